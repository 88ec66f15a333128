#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# At a terminal: Ctrl-C, Ctrl-Z, fg, bg, pipes, password prompts, hanging up.
. "$(dirname "$0")/../lib/tap.sh"
export HOLDFAST_URL=local://$W/store
pty=$HF_BUILD/tests/lib/pty
cd "$W" || exit 1

# An interactive bash whose prompt is "PS>" with the last exit code before it.
# What is typed is echoed: scripts print words that were not typed whole.
shell() { # WHAT, script on stdin
    {
        # shellcheck disable=SC2016
        printf 'expect $\nsend PS1="[\\\\$?]PS>"\\n\nexpect [0]PS>\n'
        cat
    } >script
    ok "$1" "$pty" env PS1='$' bash --norc --noprofile -i <script
}

# A command that says what it hears. A line may come in pieces while the shell
# hands the terminal over: what `read` has when its time is up is kept.
cat >"$W/talk" <<'X'
#!/bin/bash
trap 'echo "heard-""INT"; exit 4' INT
trap 'echo "heard-""CONT"' CONT
echo "ready-""now"
line='' status=0
while [ $status = 0 ] || [ $status -gt 128 ]; do
    read -r -t 0.05 piece
    status=$?
    line+=$piece
    [ $status = 0 ] || continue
    [ -z "$line" ] || echo "got-$line"
    line=
done
X
chmod +x "$W/talk"

# One that waits for the terminal, and is stopped if it is not its turn.
printf '#!/bin/sh\necho "nam""e?"; read x; echo "hello-$x"\n' >"$W/ask"
chmod +x "$W/ask"

shell 'Ctrl-C reaches the command, and its code the shell' <<'X'
send holdfast run job -- ./talk\n
expect ready-now
send \x03
expect heard-INT
expect [4]PS>
X

shell 'the command is in the foreground, or in the background, as we are' <<'X'
send holdfast run job -- sh -c 'ps -o stat= -p $$ | grep -q + && echo fo""re'\n
expect fore
expect [0]PS>
send holdfast run job -- sh -c 'ps -o stat= -p $$ | grep -q + || echo ba""ck' & wait\n
expect back
expect PS>
X

shell 'the command reads the terminal' <<'X'
send holdfast run job -- ./talk\n
expect ready-now
send hello\n
expect got-hello
send \x04
expect PS>
X

shell 'Ctrl-Z stops the job, fg goes on with it' <<'X'
send holdfast run job -- ./talk\n
expect ready-now
send \x1a
expect Stopped
expect [148]PS>
send fg\n
send again\n
expect heard-CONT
expect got-again
send \x03
expect [4]PS>
X

shell 'Ctrl-Z twice' <<'X'
send holdfast run job -- ./talk\n
expect ready-now
send \x1a
expect Stopped
expect PS>
send fg\n
send again\n
expect heard-CONT
expect got-again
send \x1a
expect Stopped
expect PS>
send fg\n
send again\n
expect heard-CONT
expect got-again
send \x03
expect [4]PS>
X

shell 'the lock is kept while stopped, beyond the lease' <<'X'
send holdfast run -t 2500ms job -- ./talk\n
expect ready-now
send \x1a
expect Stopped
expect PS>
send sleep 2.6; holdfast run -n job -- true; echo co""de $?\n
expect code 75
expect PS>
send fg\n
send again\n
expect heard-CONT
expect got-again
send \x03
expect [4]PS>
X

shell 'Ctrl-Z, bg, stopped for reading, fg' <<'X'
send holdfast run job -- ./ask\n
expect name?
send \x1a
expect Stopped
expect PS>
send bg\n
expect PS>
send until jobs | grep Stopp""ed; do :; done\n
expect Stopped
send fg\n
send Jane\n
expect hello-Jane
expect [0]PS>
X

shell 'started in the background' <<'X'
send holdfast run job -- sh -c 'echo in""side-bg' & wait\n
expect inside-bg
expect Done
send holdfast run job -- ./ask & true\n
expect name?
send set -o notify; until jobs | grep Stopp""ed; do :; done\n
expect Stopped
send fg\n
send Jane\n
expect hello-Jane
expect [0]PS>
X

shell 'in a pipe: Ctrl-C, Ctrl-Z and fg' <<'X'
send holdfast run job -- ./talk | cat\n
expect ready-now
send \x1a
expect Stopped
expect PS>
send fg\n
send again\n
expect heard-CONT
expect got-again
send hello\n
expect got-hello
send \x03
expect heard-INT
expect PS>
X

shell 'stdin from a pipe: Ctrl-C still reaches the command' <<'X'
send sleep 300 | holdfast run job -- sh -c 'trap "echo heard-""INT; exit 4" INT; echo ready-""now; while :; do sleep 0.05; done'\n
expect ready-now
send \x03
expect heard-INT
expect [4]PS>
X

shell 'stdin from a file, and a prompt on /dev/tty' <<'X'
send holdfast run job -- sh -c 'printf "pass""word: " >/dev/tty; read x </dev/tty; echo "got-$x"' </dev/null\n
expect password:
send secret\n
expect got-secret
expect [0]PS>
X

shell 'in a script without job control: the terminal is given back' <<'X'
send sh -c 'holdfast run job -- true; echo "nex""t?"; read x; echo "read-$x"'\n
expect next?
send word\n
expect read-word
expect [0]PS>
X

shell 'in a script: Ctrl-Z stops it whole, fg goes on' <<'X'
send sh -c 'holdfast run job -- ./talk; echo "en""d $?"'\n
expect ready-now
send \x1a
expect Stopped
expect PS>
send fg\n
send again\n
expect heard-CONT
expect got-again
send \x03
expect end 4
expect PS>
X

shell 'wrapper killed: the command goes, the shell has the terminal' <<'X'
send holdfast run -t 2s --kill-grace 200ms job -- sh -c 'trap "" TERM; kill -9 $(ps -o ppid= -p $PPID); while :; do sleep 0.05; done'\n
expect Killed
expect [137]PS>
send holdfast run -w 20 job -- echo af""ter\n
expect after
expect [0]PS>
X

shell 'keeper killed: exit 70, the shell has the terminal' <<'X'
send holdfast run job -- sh -c 'kill -9 $PPID; sleep 300'\n
expect was killed (SIGKILL)
expect [70]PS>
send read x; echo "re""ad-$x"\n
send word\n
expect read-word
X

shell 'waiting is shown, and Ctrl-C ends it' <<'X'
send holdfast run --label who job -- sh -c 'echo hol""ding; exec sleep 300' & \n
expect holding
send holdfast run job -- echo never""more\n
like waiting [0-9]+s for job: next, held by
expect pid
expect (who),
like waiting [0-9]+s for job
send \x03
expect holdfast: job: stopped by SIGINT while waiting
expect [130]PS>
send kill %1; wait %1\n
expect PS>
X

shell 'waiting, Ctrl-Z, fg' <<'X'
send holdfast run job -- sh -c 'echo hol""ding; exec sleep 300' & \n
expect holding
send holdfast run job -- echo my""turn\n
like waiting [0-9]+s for job
send \x1a
expect Stopped
expect PS>
send kill %1; fg %2\n
expect myturn
expect PS>
X

rm -f hup
shell 'hanging up ends the command' <<'X'
send holdfast run job -- sh -c 'trap "echo 1 >hup; exit 5" HUP; echo ready-""now; while :; do sleep 0.05; done'\n
expect ready-now
close
X
ok 'it got SIGHUP' wait_until 5 test -s hup
ok 'and the lock is free' holdfast run -w 20 job -- true

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
