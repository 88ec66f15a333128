#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# etcd with authentication: who is refused and why, tokens that expire under
# holders, waiters and watches, and where the password is.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/etcd.sh"

have_etcd || skip_all 'no etcd'

with='node_timeout=3s&connect_timeout=5s'
keys() { etcd_ctl get --prefix '' --keys-only | grep -v '^$'; }
is_empty() { [ -z "$(keys)" ]; }
waiters() { [ "$(keys | grep -c "^lock:$1/")" = "$2" ]; }
says() { # CODE PATTERN WHAT URL
    capture timeout 60 holdfast run -n -u "$4" job -- echo ran
    is "$code" "$1" "$3: exit $1"
    like "$out$err" "^holdfast: job: $at $2\$" "$3: one line"
    unlike "$out$err" 'long-and-secret|wrong-secret' "$3: no password is shown"
}

ok 'etcd starts' etcd_start -- --bcrypt-cost 4
at=127.0.0.1:${ETCD_PORT[e1]}
url="etcd://alice:long-and-secret@$at?$with"
says 77 'authentication is not enabled there: leave user and password out, .*' \
    'a login where none is wanted' "$url"
etcd_ctl user add root:root >/dev/null
etcd_ctl user grant-role root root >/dev/null
etcd_ctl user add alice:long-and-secret >/dev/null
etcd_ctl user add bob:long-and-secret >/dev/null
etcd_ctl role add locks >/dev/null
etcd_ctl role add other >/dev/null
etcd_ctl role grant-permission locks readwrite --prefix=true lock: >/dev/null
etcd_ctl user grant-role alice locks >/dev/null
ok 'authentication is enabled' etcd_ctl auth enable
ETCD_CTL=(--user root:root)

# ---- Who is refused ----------------------------------------------------------------

says 77 'wants a login: write etcd://USER:PASSWORD@HOST, .*HOLDFAST_PASSWORD_FILE=FILE' \
    'no login' "etcd://$at?$with"
says 77 'user alice: authentication failed, invalid user ID or password' \
    'a wrong password' "etcd://alice:wrong-secret@$at?$with"
says 77 'user carol: authentication failed, invalid user ID or password' \
    'no such user' "etcd://carol:long-and-secret@$at?$with"
bob="etcd://bob:long-and-secret@$at?$with"
says 77 "user bob may not use the keys: etcdctl role grant-permission --prefix=true ROLE readwrite 'lock:'" \
    'a user without the right' "$bob"
remedy=${err#*: etcdctl }
capture timeout 60 holdfast doctor -u "$bob"
like "$code:$out" '^2:.*user bob may not use the keys: etcdctl role' 'doctor says so, too'
capture timeout 60 holdfast doctor -u "etcd://$at?$with"
like "$code:$out" '^2:.*wants a login' '... also without a login'
eval "etcd_ctl ${remedy/ROLE/other}" >/dev/null
etcd_ctl user grant-role bob other >/dev/null
gives 0 'the command that the message names helps' run -n -u "$bob" job -- true
capture timeout 60 holdfast doctor -u "$bob"
like "$code:$out" '^0:.*without TLS, as user bob' 'doctor names the user'
is "$(keys)" '' '... and has written nothing'

# ---- The password ------------------------------------------------------------------

export HOLDFAST_URL=$url
gives 0 'a login' run -n job -- true
gives 0 'other characters in a password: it is not theirs' \
    ls -u "etcd://alice:long%2dand%2Dsecret@$at?$with" job
etcd_ctl user add "od\"d:a\\b%\"c" >/dev/null
etcd_ctl user grant-role 'od"d' other >/dev/null
gives 0 'quotes in user and password' \
    run -n -u "etcd://od%22d:a%5Cb%25%22c@$at?$with" job -- true
unset HOLDFAST_URL
echo long-and-secret >"$W/secret"
chmod 600 "$W/secret"
mkdir -p "$W/home/.config/holdfast"
export HOME=$W/home XDG_CONFIG_HOME=
printf 'url = etcd://alice@%s?%s\npassword_file = %s\n' "$at" "$with" "$W/secret" \
    >"$HOME/.config/holdfast/config"
gives 0 'a password file' run -n job -- true
in_memory() { # PID
    echo 'long-and-secret' | "$HF_BUILD/tests/lib/memsearch" "$1"
}
# shellcheck disable=SC2016 # the command's own variables
holdfast run -t 9s --status-fd 9 job -- sh -c 'echo $$ $PPID >"$0" && exec sleep 1000' \
    "$W/started" 9>"$W/events.rotated" &
wrapper=$!
pids+=("$wrapper")
ok 'a holder' wait_until 20 [ -s "$W/started" ]
read -r command keeper <"$W/started"
ok 'the keeper has the password' in_memory "$keeper"
in_memory "$wrapper"
is $? 1 'the wrapper has no copy'
wait_until 5 grep -q sleep "/proc/$command/comm"
in_memory "$command"
is $? 1 'nor has the command'
unlike "$(tr '\0' '\n' <"/proc/$keeper/cmdline")" long-and-secret 'ps does not show it'

# ---- Tokens that expire ---------------------------------------------------------------
#
# etcd drops the tokens of a user whose password changes.

renewals() { grep -c '"event":"renewed"' "$W/events.$1"; }
renews() { [ "$(renewals "$1")" -gt "$n" ]; }
goes_on() { # NAME WHAT
    n=$(renewals "$1")
    ok "$2" wait_until 20 renews "$1"
}
goes_on rotated 'it is renewed'
etcd_ctl user passwd --interactive=false alice <<<new-secret >/dev/null
(umask 077 && echo new-secret >"$W/secret.new" && mv "$W/secret.new" "$W/secret")
goes_on rotated 'another password, in the file too: it is renewed'
goes_on rotated '... and again'
kill "$wrapper"
wait "$wrapper"
url="etcd://alice:new-secret@$at?$with"
export HOLDFAST_URL=$url
ok 'nothing is left' wait_until 20 is_empty
expire() { # the tokens of alice
    etcd_ctl user passwd --interactive=false alice <<<new-secret >/dev/null
}
begin holder -t 9s nightly
ok 'a holder' wait_until 20 holds holder
for i in 1 2 3; do
    ok "its token expires ($i)" expire
    goes_on holder '... and it is renewed'
done
begin waiter -t 30s -w 60 nightly
ok 'a waiter' wait_until 20 waiters nightly 2
ok 'the tokens expire' expire
end holder
ok 'the lock is released by its holder, and granted to the waiter' \
    wait_until 20 holds waiter
ok 'the token expires again' expire
end waiter
ok 'a release is not lost' wait_until 20 is_empty
# A user that loses its rights while it waits.
etcd_ctl user add carl:pw >/dev/null
etcd_ctl user grant-role carl locks >/dev/null
begin another nightly
ok 'a holder' wait_until 20 holds another
begin revoked -u "etcd://carl:pw@$at?$with" nightly
revoked=$begun
ok 'another user waits' wait_until 20 is_queued revoked
ok 'its role is revoked' etcd_ctl user revoke-role carl locks
ends_denied revoked "$revoked" 'carl may not use the keys'
end another
unlike "$(cat "$W"/events.holder "$W"/events.waiter)" '"event":"(lost|at_risk)"' \
    'no lock was lost'

# ---- A watch whose token has expired -----------------------------------------------------
#
# A waiter's watch, which has a connection of its own, is held up on the way until its token
# has expired. Its other connections pass: on a busy machine it may need several logins.

cat >"$W/pass" <<X
#!/bin/bash
IFS= read -r line
if [[ \$line == *" /v3/watch "* ]]; then
    echo \$\$ >>"$W/watches"
    until [ -e "$W/open" ]; do sleep 0.02; done
fi
{ printf '%s\n' "\$line" && exec cat; } | socat - TCP:$at
X
chmod +x "$W/pass"
: >"$W/watches"
way=$(free_port)
socat "TCP-LISTEN:$way,bind=127.0.0.1,fork,reuseaddr" "EXEC:$W/pass" 2>/dev/null &
pids+=($!)
listens() { (: <"/dev/tcp/127.0.0.1/$way") 2>/dev/null; }
watches() { [ "$(wc -l <"$W/watches")" -ge "$1" ]; }
ok 'a way to the server' wait_until 10 listens
begin holder nightly
ok 'a holder' wait_until 20 holds holder
begin waiter -u "etcd://alice:new-secret@127.0.0.1:$way?node_timeout=3s&connect_timeout=60s" \
    -t 60s -w 60 nightly
ok 'a waiter' wait_until 20 waiters nightly 2
ok '... begins to watch' wait_until 20 watches 1
ok 'its token expires' expire
touch "$W/open"
ok 'it watches again' wait_until 20 watches 2
released=$(now_ms)
end holder
ok 'it is granted the lock' wait_until 30 holds waiter
took=$(($(now_ms) - released))
ok "... by its watch, not by a heartbeat ($took ms)" [ "$took" -lt 10000 ]
end waiter
ok 'nothing is left' wait_until 20 is_empty

# ---- A server that restarts, and tokens that do not last ----------------------------------

begin holder -t 20s nightly
ok 'a holder' wait_until 20 holds holder
etcd_kill e1
ok 'the server restarts: it knows no token' etcd_restart e1
gives 75 'its lock is still held' run -n nightly -- true
goes_on holder '... and renewed'
etcd_kill e1
ETCD_ARGS+=(--auth-token-ttl 1)
ok 'the server restarts, with tokens that expire after a second' etcd_restart e1
for i in 1 2 3; do
    goes_on holder "the lock is renewed ($i)"
done
end holder
ok 'nothing is left' wait_until 20 is_empty
finish
