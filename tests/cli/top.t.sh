#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# top: its screen, its keys, other terminals, an outage, and that it leaves
# the terminal as it was.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
pty=$HF_BUILD/tests/lib/pty
[ -x "$HF_BUILD/holdfast-top" ] || skip_all 'no ncurses: top is not built'

pids=()
end_runs() {
    [ ${#pids[@]} != 0 ] || return 0
    kill "${pids[@]}" 2>/dev/null
    wait "${pids[@]}" 2>/dev/null
    pids=()
}
at_exit end_runs
run() { # ARG...
    holdfast run "$@" -- sleep 300 2>/dev/null &
    pids+=($!)
}
state() { # NAME STATE WAITING
    [ "$(holdfast ls --json "$1" | jq -r '.state, .waiting' | xargs)" = \
        "$2 $3" ]
}

# At the end the terminal is as it was before.
# shellcheck disable=SC2016
kept='trap : INT; before=$(stty -g); eval "$0"; echo "code-$?"
    [ "$before" = "$(stty -g)" ] && echo kept-"it"'
top() { # TITLE COMMAND [CODE] : steps on stdin
    cat - >"$W/script"
    cat >>"$W/script" <<S
expect [?1049l
expect code-${3:-0}
expect kept-it
S
    ok "$1" timeout 60 "$pty" bash --norc -c "$kept" "$2" <"$W/script"
}
# Run a command when the steps have come this far.
when_up() { # COMMAND...
    rm -f "$W/up"
    (wait_until 20 test -e "$W/up" && "$@") &
    helper=$!
}

export TERM=xterm HOLDFAST_URL=local://$W/store
top 'nothing is held' 'holdfast top' <<'S'
expect [?1049h
drawn 0 names
drawn nothing is held
send q
S

# A message must not go into a file of the store that has the number of a closed
# descriptor.
without() { # BITS: of the descriptors
    (
        (($1 & 1)) && exec <&-
        (($1 & 2)) && exec >&-
        (($1 & 4)) && exec 2>&-
        exec holdfast top
    ) </dev/null >"$W/log" 2>&1
    is "$?:$(head -c 6 "$W/store/locks.gate")" 64:hfgate \
        "closed descriptors ($1): refused, and the store is as it was"
}
for closed in 1 2 3 4 5 6 7; do
    without $closed
done

run --label 'night shift' nightly
wait_until 10 state nightly held 0
run nightly
wait_until 10 state nightly held 1
run --label 'number two' invoice-2
run -s catalogue
run -s catalogue
long=a-name-that-is-so-long-that-no-column-of-eighty-would-take-it-whole
run $long
ok 'there is something to see' wait_until 10 state $long held 0

top 'store, counts, columns, rows' 'holdfast top --interval 100ms' <<'S'
drawn local:///
drawn 1 node up
drawn 4 names, 5 holders, 1 waiting
drawn NAME
drawn MODE
drawn HOLDER
drawn SINCE
drawn LEFT
drawn WAIT
drawn nightly
drawn exclusive
send q
S
is_sanitized "$HF_BUILD/holdfast-top" ||
    top 'Ctrl-C takes the key away that is about to be read' \
        "KEYSHIM=read LD_PRELOAD=$HF_BUILD/tests/lib/keys_shim.so holdfast top" <<'S'
expect [?1049h
send j
S
top 'a name that does not fit is cut' 'holdfast top' <<'S'
drawn a-name-that-is-so-lon
drawn …
send q
S
top 'a filter, as it is typed' 'holdfast top' <<'S'
drawn invoice-2
send /nvo
drawn /nvo
send \n
drawn /nvo: 1
send \x1b
drawn catalogue
send /zzz
drawn no name matches
send \x1b
drawn catalogue
send /n*y\n
drawn /n*y: 1
send q
S
top 'a filter has the patterns of ls' 'holdfast top' <<'S'
drawn invoice-2
send /i[z-a]v*\n
drawn /i[z-a]v*: 1
send q
S
top 'a pattern on the command line' "holdfast top 'inv*'" <<'S'
drawn 1 name, 1 holder, 0 waiting
drawn invoice-2
send q
S
top 'order' 'holdfast top' <<'S'
drawn WAIT▾
send r
drawn WAIT▴
send >
drawn NAME▴
send r
drawn NAME▾
send <
drawn WAIT▾
send q
S
top 'holders and waiters' 'holdfast top' <<'S'
drawn nightly
send \n
drawn nightly: exclusive
drawn (night shift)
drawn 1.
drawn waiting since
send \x1bOB
drawn a-name-that-is-so-long-that-no
send jj
drawn invoice-2: exclusive
drawn (number two)
send k
drawn catalogue: shared 2
send k\x1bOA
drawn nightly: exclusive
send q
S
top 'help' 'holdfast top' <<'S'
drawn nightly
send ?
drawn the other way round
send \x1b
drawn invoice-2
send q
S
top 'pause, and how often' 'holdfast top' <<'S'
drawn every 1s
send p
drawn paused
send p
drawn every 1s
send -
drawn 2s
send +
drawn 1s
send +
drawn 500ms
send q
S
top 'more columns on a wider terminal' 'holdfast top' <<'S'
drawn nightly
size 30 130
drawn FENCE
drawn LABEL
drawn night shift
size 8 40
drawn NAME
drawn WAIT
drawn nightly
size 2 8
size 24 80
drawn HOLDER
send q
S

# Values that are no width, and widths that no terminal has. COLUMNS is
# narrower, or unset.
for bad in 0 10000 x; do
    top "COLUMNS=$bad: as wide as the terminal" "COLUMNS=$bad holdfast top" <<S
drawn ? help
shows nightly
shows WAIT▾
screen $W/screen
send q
S
    is "$("$HF_BUILD/tests/lib/columns" <"$W/screen")" 80 \
        "COLUMNS=$bad: 80 columns"
    is "$(grep -c '^NAME' "$W/screen")$(sed -n 3p "$W/screen" | cut -c1-4)" \
        1NAME "COLUMNS=$bad: its rows are where they belong"
done
top 'COLUMNS makes it narrower' 'COLUMNS=40 holdfast top' <<S
drawn q quit
shows nightly
screen $W/screen
send q
S
is "$("$HF_BUILD/tests/lib/columns" <"$W/screen")" 40 'COLUMNS=40: 40 columns'
for columns in 1 3 20; do
    top "COLUMNS=$columns" "COLUMNS=$columns holdfast top" <<S
expect [?1049h
screen $W/screen
send \n?\x1b
send q
S
    top "a terminal of $columns columns" \
        "stty cols $columns; holdfast top" <<'S'
expect [?1049h
send \n?\x1b
send q
S
done

# Locks that appear and disappear are shown.
hold_newcomer() {
    exec holdfast run newcomer -- sh -c 'until [ -e "$0" ]; do :; done' \
        "$W/go" 2>/dev/null
}
when_up hold_newcomer
top 'a holder comes, and goes' 'holdfast top --interval 100ms' <<S
drawn 4 names
touch $W/up
drawn 5 names
drawn newcomer
touch $W/go
drawn 4 names
send q
S
wait $helper

# ---- Terminals
LC_ALL=C top 'ASCII' 'holdfast top' <<'S'
drawn WAITv
drawn a-name-that-is-so-lon
drawn ~
send q
S
TERM=linux top 'no other screen to come back from' \
    "holdfast top; printf '\\033[?1049l'; true" <<'S'
drawn nightly
send q
S
for term in dumb ''; do
    cat >"$W/script" <<'S'
expect holdfast: top: this terminal cannot move its cursor
expect code-64
S
    ok "TERM='$term' is refused" timeout 60 "$pty" sh -c \
        "TERM=$term holdfast top; echo code-\$?" <"$W/script"
done
capture holdfast top
is "$code:$out" 64: 'no terminal: refused'
is "$err" 'holdfast: top: needs a terminal; `holdfast ls --follow` does not' \
    'no terminal: said, in a line'
capture holdfast top -u redsi://x
is "$code" 64 'a malformed URL is said by the program itself'
HOLDFAST_MODULE_DIR=$W PATH=$W:$PATH capture "$HF_BUILD/holdfast" top
is "$code" 64 'the program is found beside the command'
cp "$HF_BUILD/holdfast" "$W/alone"
HOLDFAST_MODULE_DIR=$W capture "$W/alone" top
is "$code" 127 'not installed: exit 127'
like "$err" '^holdfast: top: holdfast-top is not in ' 'and said'

# ---- How it ends
pid_of="sh -c 'echo \$\$ >\"$W/pid\"; exec holdfast top'"
send() { # SIGNAL
    kill "-$1" "$(cat "$W/pid")"
}
for signal in TERM INT HUP QUIT; do
    when_up send $signal
    top "SIG$signal ends it" "$pid_of" <<S
drawn nightly
touch $W/up
S
    wait $helper
done
top 'Ctrl-C ends it' 'holdfast top' <<'S'
drawn nightly
send \x03
S
when_up send SEGV
top 'even a crash leaves the terminal as it was' "$pid_of" 139 <<S
drawn nightly
touch $W/up
S
wait $helper
cat >"$W/script" <<S
drawn nightly
touch $W/up
close
S
timeout 60 "$pty" sh -c "echo \$\$ >'$W/pid'; exec holdfast top" <"$W/script"
ok 'a terminal that hangs up ends it' \
    wait_until 10 is_gone "$(cat "$W/pid")"
cat >"$W/script" <<'S'
send holdfast top\n
drawn nightly
send \x1a
expect Stopped
send stty -a | tr ' ' '_'\n
expect _icanon
send fg\n
expect [?1049h
drawn nightly
send q
expect [?1049l
S
ok 'Ctrl-Z and fg' timeout 60 "$pty" bash --norc -i <"$W/script"
end_runs

# ---- The store is away, and back
server_start one
export HOLDFAST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=1s"
run job
wait_until 10 state job held 0
back() {
    rm "$W/up"
    server_kill one
    wait_until 20 test -e "$W/up"
    server_restart one
}
cat >"$W/script" <<S
drawn 1 node up
drawn job
touch $W/up
drawn no answer since
drawn 1 down
touch $W/up
drawn 1 node up
drawn 0 names
send q
S
rm -f "$W/up"
timeout 60 "$pty" holdfast top --interval 100ms <"$W/script" &
terminal=$!
wait_until 20 test -e "$W/up" && back
wait $terminal
is $? 0 'an outage is shown, and its end'
end_runs

# Three nodes, of which one is down.
servers_start 3
servers_declare "$URLS"
export HOLDFAST_URL=$URLS
run --label L1 job
wait_until 10 state job held 0
server_kill s3
top 'a node that is away is reported' 'holdfast top' <<'S'
drawn 2 of 3 nodes up, 1 down
drawn job
send \n
drawn s1/s
drawn (L1)
drawn s3/s: down
send q
S

# The URL of one of the three: its locks are not shown as if it were all.
one="${SERVER_URL[s1]}"
for width in 80 200; do
    top "one of three servers ($width columns)" \
        "stty cols $width; holdfast top -u '$one'" <<S
drawn no answer:
drawn 0 of 1 node up, 1 down
drawn belongs to a store of 3
screen $W/screen
send \n?\x1b
send q
S
    is "$(grep -c '^job' "$W/screen")" 0 "... shows no lock ($width columns)"
done
ok '... while one is held' state job held 0
end_runs

# ---- A server that answers, and does not count
server_start fresh
export HOLDFAST_URL="${SERVER_URL[fresh]}?node_timeout=1s"
top 'a server in quarantine' 'holdfast top' <<'S'
expect [?1049h
drawn 0 of 1 node up, 1 quarantined
send q
S
finish
