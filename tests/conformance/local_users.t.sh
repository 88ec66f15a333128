#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The embedded store and the users of a machine: which folder is the default,
# which users may use a shared one, and which requests are refused.
# timeout: 240
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/users.sh"
users_skip
notice='no store configured: this lock covers only this user on this machine (set HOLDFAST_URL or /etc/holdfast/config; -u local: silences this)'

one_line() { # REGEX TITLE: $err is one line of Holdfast's
    like "$err" "^holdfast: [^"$'\n'"]*$1[^"$'\n'"]*\$" "$2"
}

# ---- The default folder ----------------------------------------------------

in_users '
    as alice "$hf" acquire -q -t 60s job >/dev/null
    as root "$hf" run -q other -- true
    try alice'
is "$out" "alice 75" "root's first use does not move another user's store"

in_users '
    as root "$hf" acquire -q -t 60s job >/dev/null
    install -d /var/lib/holdfast; try root
    HOLDFAST_URL= XDG_STATE_HOME=$W/machine/state try root
    HOME=/ "$hf" run -qn job -- true; echo $?
    env -i "$hf" run -qn job -- true; echo $?
    install -d -m 700 $W/machine/other
    HOME=$W/machine/other "$hf" run -qn job -- true; echo $?
    env -i -C / "$hf" run -n -u local: job -- true 2>/dev/null; echo $?'
is "$(echo $out)" "root 75 root 75 75 75 75 75" \
    "neither folders nor the environment move the default store"

in_users '
    as alice "$hf" run -q job -- true
    stat -c "%a %U %n" alice/.local/state/holdfast{,/*}
    find /var/lib "$W/machine" -name "locks.*" -perm -2'
is "${out//$W\/machine\//}" "700 alice alice/.local/state/holdfast
600 alice alice/.local/state/holdfast/locks.gate
600 alice alice/.local/state/holdfast/locks.mdb" "it is the user's own"

in_users 'as root "$hf" acquire -q -t 60s job >/dev/null
    setpriv --reuid=4001 --regid=4001 --clear-groups \
        env HOME="$W/machine/root" "$hf" run -qn job -- true; echo $?
    ls -d alice/.local/state/holdfast'
is "$out" "0
alice/.local/state/holdfast" "another user with root's HOME uses the user's own folder"

in_users 'as alice "$hf" run job -- true'
is "$code:$err" "0:$notice" "the notice"
in_users 'as root "$hf" run job -- true'
is "$code:$err" "0:$notice" "the notice, of root"

for user in homeless slash; do
    in_users "as $user \"\$hf\" run -q job -- true"
    is "$code" 78 "$user: 78"
    one_line 'user 400[45] has no home folder.*-u local:///FOLDER' "$user: why"
done
in_users 'setpriv --reuid=4999 --regid=4999 --clear-groups "$hf" run -q x -- true'
is "$code" 78 "a user without an entry in the password database: 78"
one_line 'user 4999 is not in the password database' "and why"
in_users 'rmdir alice; as alice "$hf" run -q x -- true; ls'
is "$code:$(echo $out)" "0:bob carol root" "a home folder is never made"
one_line 'has no home folder' "it may be a disk that is not mounted"
in_users 'sed -i "s,$W/machine/carol,$W/machine/alice," /etc/passwd
    as alice "$hf" run -q x -- true || exit 9
    chmod 755 alice alice/.local alice/.local/state
    as carol "$hf" run -q x -- true'
is "$code" 77 "two users with one home folder: 77 for the second"
one_line 'belongs to user 4001, not to user 4003' "and why"

# ---- The shared folder -----------------------------------------------------

in_users 'share; stat -c "%a %U:%G %n" /var/lib/holdfast{,/*}
    stat -c %i /var/lib/holdfast/* >$W/machine/before
    as alice "$hf" acquire -t 60s job >/dev/null
    share; try bob; try root
    stat -c %i /var/lib/holdfast/* | diff - $W/machine/before && echo same
    stat -c "%a %U:%G %n" /var/lib/holdfast/*'
files='660 root:holdfast /var/lib/holdfast/locks.gate
660 root:holdfast /var/lib/holdfast/locks.mdb
660 root:holdfast /var/lib/holdfast/values.mdb'
is "$out" "2750 root:holdfast /var/lib/holdfast
$files
bob 75
root 75
same
$files" "doctor --init makes it, members and root share it, again changes nothing"

in_users '"$hf" doctor --init -u local:///var/lib/holdfast || exit
    install -d -m 755 /etc/holdfast
    echo "url = local:///var/lib/holdfast" >/etc/holdfast/config
    as alice "$hf" acquire -t 60s job >/dev/null
    setpriv --reuid=4002 --regid=4002 --groups=4010 env -i "$hf" run -n job -- \
        true 2>/dev/null; echo $?'
is "$out" 75 "named in /etc/holdfast/config, it is the store of all users"

in_users 'share; as carol "$hf" run -n job -- true'
is "$code" 77 "a stranger may not use it: 77"
one_line 'members of group holdfast share it' "and the message names the group that may"
in_users 'share; cd /var/lib/holdfast
    as carol flock -n locks.gate true 2>/dev/null; echo $?
    as carol truncate -s 0 /var/lib/holdfast/locks.gate 2>/dev/null; echo $?
    as carol cat /var/lib/holdfast/locks.mdb >/dev/null 2>&1; echo $?
    as alice rm -f locks.gate 2>/dev/null; echo $?
    as alice touch new 2>/dev/null; echo $?'
is "$(echo $out)" "66 1 1 1 1" "strangers cannot lock, cut or read its files, \
members cannot remove or add any"

in_users 'export HOLDFAST_URL=local:///var/lib/holdfast
    as alice "$hf" run -n job -- true; echo $?
    as root "$hf" run -n job -- true 2>/dev/null; echo $?
    mkdir -m 755 /var/lib/holdfast
    as root "$hf" run -n job -- true 2>/dev/null; echo $?; ls /var/lib/holdfast'
is "$(echo $out)" "78 78 78" "it is never made in passing"
one_line 'is not set up: as root, run holdfast doctor --init -u local:///var' \
    "and the remedy is said"
in_users 'share; rm /var/lib/holdfast/locks.mdb
    as root "$hf" run -n job -- true 2>/dev/null; echo $?; ls /var/lib/holdfast'
is "$(echo $out)" "78 locks.gate values.mdb" "nor are its files"
in_users 'share; cd /var/lib/holdfast; export HOLDFAST_URL=local:///var/lib/holdfast
    as alice "$hf" put -q v 1; as bob "$hf" get v; echo
    as bob "$hf" update v -- sh -c "echo 2"; as root "$hf" get v; echo
    as carol "$hf" get v 2>/dev/null; echo $?
    as carol cat values.mdb >/dev/null 2>&1; echo $?'
is "$(echo $out)" "1 2 77 1" "members and root share values, strangers do not"
in_users 'share; cd /var/lib/holdfast; export HOLDFAST_URL=local:///var/lib/holdfast
    rm values.mdb; as alice "$hf" acquire -q -t 60s job >/dev/null
    as root "$hf" put v 1; echo $?; "$hf" doctor --init; stat -c "%a %G" values.mdb
    as bob "$hf" put -q v 1; echo $?; try bob'
is "$(echo $out)" "78 660 holdfast 0 bob 75" \
    "without their file, --init makes it; locks stay"
like "$err" '^holdfast: v: .*is not set up: as root, run holdfast doctor --init -u local:///var' \
    "which the message says"

in_users 'sed -i /^holdfast:/d /etc/group; "$hf" doctor --init -u local:///var/lib/holdfast; echo $?; ls /var/lib'
is "$(echo $out)" "78" "no group: 78, and no folder is left"
one_line 'no group holdfast.*groupadd --system holdfast' "and the remedy"
in_users 'as alice "$hf" doctor --init -u local:///var/lib/holdfast'
is "$code" 77 "doctor --init by a user: 77"
one_line 'only root.*sudo holdfast doctor --init -u local:///var/lib/holdfast' \
    "and the remedy"
in_users 'as alice "$hf" doctor --init -u local: && as root "$hf" doctor --init \
    -u local: && ls /var/lib'
is "$code:$out:$err" "0::" "the default folder needs no --init"
in_users 'share; "$hf" doctor --init; as alice "$hf" doctor --init'
is "$code:$err" 0: "nor does a folder that is set up, for any user"
in_users 'touch /var/lib/x; "$hf" doctor --init -u local:///var/lib; stat -c %a \
    /var/lib'
is "$out" 755 "a folder with other files is not taken"
one_line 'holds other files' "and why"
in_users '"$hf" doctor --init -u "local://$W/machine/alice"'
is "$code" 78 "nor is another user's"
one_line 'belongs to user 4001' "and why"
in_users 'install -d -g carol -m 2750 team; HOLDFAST_URL=local://$PWD/team
    export HOLDFAST_URL; "$hf" doctor --init
    stat -c %G team/*; try carol'
is "$(echo $out)" "carol carol carol carol 0" "a folder's own group is kept"

# ---- Private folders -------------------------------------------------------

in_users 'install -d -m 755 open; as root "$hf" run -u "local://$PWD/open" x -- \
    true; stat -c %a open/*; as carol "$hf" run -u "local://$PWD/open" x -- true'
is "$code:$(echo $out)" "77:600 600" "root's folder is not for others"
for mode in 775 757 1777; do
    in_users "install -d -m $mode -o alice wide
        as alice \"\$hf\" run -u \"local://\$PWD/wide\" x -- true"
    is "$code" 78 "a folder that others may write ($mode): 78"
    one_line 'chmod go-w' "and the remedy"
done
in_users 'as alice "$hf" acquire -q x >/dev/null
    "$hf" run -u "local://$PWD/alice/.local/state/holdfast" x -- true'
is "$code" 77 "root does not map another user's files: 77"

# After COMMAND in the folder, opening the store fails: TITLE COMMAND REGEX
files_refused() {
    in_users "as alice \"\$hf\" acquire -q -t 60s job >/dev/null
        cd alice/.local/state/holdfast; $2
        as alice \"\$hf\" run -qn job -- true"
    is "$code" 78 "$1: 78"
    one_line "$3" "and why"
}
files_refused "others may write the gate" 'chmod 602 locks.gate' 'mode 0602'
files_refused "others may read the gate" 'chmod 640 locks.gate' 'mode 0640'
files_refused "others may write the data" 'chmod 666 locks.mdb' 'mode 0666'
files_refused "another's gate" 'chown bob locks.gate; chmod 666 locks.gate' \
    'locks.gate belongs to 4002'
files_refused "another's data" 'chown bob locks.mdb; chmod 666 locks.mdb' \
    'locks.mdb belongs to 4002'
files_refused "a second name" 'ln locks.mdb ../second' 'has 2 names'
files_refused "a link for the gate" 'mv locks.gate ../g; ln -s ../g locks.gate' \
    'locks.gate: '
files_refused "a link for the data" 'mv locks.mdb ../m; ln -s ../m locks.mdb' \
    'locks.mdb is not a file'
files_refused "a pipe" 'rm locks.gate; mkfifo -m 600 locks.gate; chown alice \
    locks.gate' 'locks.gate is not a file'

# The same for values: TITLE COMMAND REGEX
values_refused() {
    in_users "as alice \"\$hf\" put -q v 1
        cd alice/.local/state/holdfast; $2
        as alice \"\$hf\" get -q v"
    is "$code" 78 "values: $1: 78"
    one_line "$3" "and why"
}
restore='restore it from a backup, or remove it'
values_refused "others may write them" 'chmod 602 values.mdb' \
    "mode 0602.*$restore"
values_refused "another's" 'chown bob values.mdb; chmod 666 values.mdb' \
    "values.mdb belongs to 4002.*$restore"
values_refused "a second name" 'ln values.mdb ../second' "has 2 names.*$restore"
values_refused "a link" 'mv values.mdb ../m; ln -s ../m values.mdb' 'values.mdb: '
in_users 'as alice "$hf" put -q v 1; stat -c "%a %U" alice/.local/state/holdfast/v*'
is "$out" "600 alice" "values are the user's own"

# ---- doctor ----------------------------------------------------------------

doctor_says() { # TITLE CODE COMMANDS REGEX
    in_users "share; $3; \"\$hf\" doctor"
    is "$code" "$2" "doctor: $1: $2"
    like "$out" "$4" "and the reason"
}
doctor_says "fit" 0 ':' 'group 4010 shares.*each member can'
doctor_says "a wrong mode" 2 'chmod 666 /var/lib/holdfast/locks.gate' \
    'unfit: .*mode 0666'
doctor_says "a wrong owner" 2 'chown alice /var/lib/holdfast/locks.mdb' \
    'unfit: .*locks.mdb belongs to 4001'
doctor_says "a wrong folder" 2 'chmod 2770 /var/lib/holdfast' \
    'unfit: .*not set up.*doctor --init'
doctor_says "members cannot write" 1 'chmod 640 /var/lib/holdfast/locks.mdb' \
    'warning: .*0660 and 0640'
values=/var/lib/holdfast/values.mdb
doctor_says "others may write values" 1 "chmod 662 $values" \
    "warning: .*: no value can be read or written: $values has mode 0662"
doctor_says "values of a user" 1 "chown alice $values" \
    "warning: .*: no value can be read or written: $values belongs to 4001"
doctor_says "values are a link" 1 "mv $values /var/lib/v; ln -s /var/lib/v $values" \
    "warning: .*: no value can be read or written: $values is not a file"
doctor_says "members cannot write values" 1 "chmod 640 $values" \
    "warning: .*$values has mode 0640: some users cannot .*; chmod 0660 it"
doctor_says "no file for values" 1 "rm $values" \
    "warning: .*: no value can be read or written: $values is gone: .*doctor --init"
in_users 'as alice "$hf" run -q job -- true; as alice "$hf" doctor'
is "$code" 0 "doctor: a private folder without values is fit"
in_users 'share; chmod 2770 /var/lib/holdfast; "$hf" doctor --init && try alice'
is "$out" "alice 0" "--init mends the folder's mode"
in_users 'share; chmod 666 /var/lib/holdfast/locks.gate; "$hf" doctor --init'
is "$code" 78 "but takes over no file that every user could write"
one_line 'may have been written by any user' "and says so"
in_users 'install -d -m 700 own; u=local://$PWD/own
    "$hf" run -q -u "$u" job -- sh -c "\"$hf\" doctor --init -u \"$u\"; echo \$?"
    stat -c %a own/locks.gate'
is "$out" "78
600" "nor one that is in use"
one_line 'is in use' "and says so"
finish
