#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# At a terminal: Ctrl-C, Ctrl-Z, fg, bg, pipes, password prompts, hanging up.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/terminal.sh"
export HOLDFAST_URL=local://$W/store

rows <<'X'
Ctrl-C reaches the command, and its code the shell
    talk; send \x03; > heard-INT; ? [4]
the command is in the foreground, or in the background, as we are
    $ holdfast run job -- sh -c 'ps -o stat= -p $$ | grep -q + && echo fo""re'
    > fore; ? [0]
    $ holdfast run job -- sh -c 'ps -o stat= -p $$ | grep -q + || echo ba""ck' & wait
    > back; ?
the command reads the terminal
    talk; $ hello; > got-hello; send \x04; ?
Ctrl-Z stops the job, fg goes on with it
    talk; Z [148]; fg; C [4]
Ctrl-Z twice
    talk; Z; fg; Z; fg; C [4]
the lock is kept while stopped, beyond the lease
    $ holdfast run -t 2500ms --status-fd 9 job -- ./talk 9>events
    > ready-now; Z
    $ n=$(grep -c renewed events); until (($(grep -c renewed events) > n + 3)); do sleep 0.05; done
    ?
    $ holdfast run -n job -- true; echo co""de $?
    > code 75; ?; fg; C [4]
Ctrl-Z, bg, stopped for reading, fg
    $ holdfast run job -- ./ask
    > name?; Z; $ bg; ?
    $ until jobs | grep Stopp""ed; do :; done
    > Stopped; Jane
started in the background
    $ holdfast run job -- sh -c 'echo in""side-bg' & wait
    > inside-bg; > Done
    $ holdfast run job -- ./ask & true
    > name?
    $ set -o notify; until jobs | grep Stopp""ed; do :; done
    > Stopped; Jane
in a pipe: Ctrl-C, Ctrl-Z and fg
    $ holdfast run job -- ./talk | cat
    > ready-now; Z; fg; $ hello; > got-hello; send \x03; > heard-INT; ?
in a pipe: what reads the output may read the terminal, as a pager does
    $ holdfast run job -- yes | (read x; printf "na""me?"; read y </dev/tty; echo "got-$y")
    > name?
    $ Jane
    > got-Jane; ? [0]
and after Ctrl-Z and fg
    $ holdfast run job -- yes | (read x; read y </dev/tty; echo "got-$y"; read y </dev/tty; echo "got-$y")
    $ June
    > got-June; Z
    $ fg
    $ Jane
    > got-Jane; ? [0]
in a pipe: both read the terminal, one after the other
    $ holdfast run job -- sh -c 'printf "fir""st?" >/dev/tty; read y </dev/tty; echo "$y"; until [ -e read ]; do sleep 0.05; done' | (read y; echo "got-$y"; printf "na""me?"; read z </dev/tty; echo "got-$z" | tee read)
    > first?
    $ June
    > got-June; > name?
    $ Jane
    > got-Jane; ? [0]
in a pipe in the background: stopped for reading, fg
    $ holdfast run job -- yes | (read x; printf "na""me?"; read y </dev/tty; echo "got-$y") & true
    > name?
    $ until jobs | grep Stopp""ed; do :; done
    > Stopped
    $ fg
    $ Jane
    > got-Jane; ? [0]
stdin from a pipe: Ctrl-C still reaches the command
    $ sleep 300 | holdfast run job -- sh -c 'trap "echo heard-""INT; exit 4" INT; echo ready-""now; while :; do sleep 0.05; done'
    > ready-now; send \x03; > heard-INT; ? [4]
stdin from a file, and a prompt on /dev/tty
    $ holdfast run job -- sh -c 'printf "pass""word: " >/dev/tty; read x </dev/tty; echo "got-$x"' </dev/null
    > password:; $ secret; > got-secret; ? [0]
in $(...), where bash ignores SIGTTIN: a prompt on /dev/tty
    $ x=$(holdfast run job -- sh -c 'printf "na""me?" >/dev/tty; read y </dev/tty; echo "hf-$y"' </dev/null); echo "go""t-$x"
    > name?
    $ Jane
    > got-hf-Jane; ? [0]
    $ read x; echo "re""ad-$x"
    $ word
    > read-word; ? [0]
in a pipe in $(...): what reads the output may read the terminal
    $ x=$(holdfast run job -- yes | (read x; printf "na""me?" >/dev/tty; read y </dev/tty; echo "pipe-$y")); echo "go""t-$x"
    > name?
    $ Jane
    > got-pipe-Jane; ? [0]
in a script without job control: the terminal is given back
    $ sh -c 'holdfast run job -- true; echo "nex""t?"; read x; echo "read-$x"'
    > next?; $ word; > read-word; ? [0]
in a script: Ctrl-Z stops it whole, fg goes on
    $ sh -c 'holdfast run job -- ./talk; echo "en""d $?"'
    > ready-now; Z; fg; send \x03; > end 4; ?
wrapper killed: the command goes, the shell has the terminal
    $ holdfast run -t 2s --kill-grace 200ms job -- sh -c 'trap "" TERM; kill -9 $(ps -o ppid= -p $PPID); while :; do sleep 0.05; done'
    > Killed; ? [137]
    $ holdfast run -w 20 job -- echo af""ter
    > after; ? [0]
keeper killed: exit 70, the shell has the terminal
    $ holdfast run job -- sh -c 'kill -9 $PPID; sleep 300'
    > was killed (SIGKILL); ? [70]
    $ read x; echo "re""ad-$x"
    $ word
    > read-word
waiting is shown, and Ctrl-C ends it
    $ holdfast run --label who job -- sh -c 'echo hol""ding; exec sleep 300' &
    > holding
    $ holdfast run job -- echo never""more
    ~ waiting [0-9]+s for job: next, held by
    > pid; > (who),; ~ waiting [0-9]+s for job
    send \x03; > holdfast: job: stopped by SIGINT while waiting; ? [130]
    $ kill %1; wait %1
    ?
waiting, Ctrl-Z, fg
    $ holdfast run job -- sh -c 'echo hol""ding; exec sleep 300' &
    > holding
    $ holdfast run job -- echo my""turn
    ~ waiting [0-9]+s for job; Z
    $ kill %1; fg %2
    > myturn; ?
waiting, Ctrl-Z; the command is stopped for reading before fg
    $ holdfast run job -- sh -c 'echo hol""ding; exec sleep 300' &
    > holding
    $ holdfast run job -- ./ask
    ~ waiting [0-9]+s for job; Z
    $ kill %1; until ps -t "$(tty)" -o stat=,args= | grep -q "^T.*/sh ./ask"; do sleep 0.05; done
    > name?; ?
    $ fg %2
    $ Jane
    > hello-Jane; ? [0]
hanging up ends the command
    $ holdfast run job -- sh -c 'trap "echo 1 >hup; exit 5" HUP; echo ready-""now; while :; do sleep 0.05; done'
    > ready-now; close
X
ok 'it got SIGHUP' wait_until 5 test -s hup
ok 'and the lock is free' holdfast run -w 20 job -- true

# Moments that are too short for a person.
is_sanitized "$pty" || rows <<'X'
Ctrl-C empties the queue of the terminal as ./talk wants to read it
    $ ./at read ./talk
    > ready-now; $ lost; > heard-INT; ? [4]
Ctrl-Z as fg has continued us, and not yet the command
    $ ./at continued holdfast run job -- ./talk
    > ready-now; Z; $ fg
    > Stopped; ?; fg; C [4]
the same, a moment before
    $ ./at continue holdfast run job -- ./talk
    > ready-now; Z; $ fg
    > Stopped; ?; fg; C [4]
the same of a command that was stopped for reading: it gets no SIGHUP
    $ ./at continue holdfast run job -- ./ask & true
    > name?
    $ set -o notify; until jobs | grep Stopp""ed; do :; done
    > Stopped; ?; $ fg
    > Stopped; ?; Jane
X

# A session of its own: no shell could continue it, so Ctrl-Z does not stop it.
cat >script <<'X'
expect ready-now
send \x1a
send hello\n
expect got-hello
send \x03
expect heard-INT
X
ok 'as a session leader: Ctrl-Z does not hang it' \
    "$pty" holdfast run job -- ./talk <script
finish
