#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ctrl-C and Ctrl-\ end the script or loop that holdfast is in, as they do where
# the command runs by itself; without a terminal 128+N is an exit code.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/terminal.sh"
export HOLDFAST_URL=local://$W/store
# timeout: 300

printf '#!/bin/sh\necho "ready-""now"; exec sleep 300\n' >"$W/stay"
cat >"$W/handle" <<'X'
#!/bin/bash
trap 'exit 130' INT
echo "ready-""now"
while :; do sleep 0.05; done
X
printf '#!/bin/sh\nkill -TERM $$\n' >"$W/die"
cat >"$W/linger" <<'X'
#!/bin/bash
(trap '' INT; echo $BASHPID >left; exec sleep 300) &
until [ -s left ]; do sleep 0.01; done
echo "ready-""now"
wait
X
printf '#!/bin/sh\n[ -e "/proc/$(cat left)" ] || echo "all-""gone"\n' >"$W/look"
chmod +x "$W/stay" "$W/handle" "$W/die" "$W/linger" "$W/look"

# A script that goes on would end with 0.
rows <<'X'
Ctrl-C ends the script
    $ bash -c 'holdfast run job -- ./stay; echo went-on'
    > ready-now; C [130]
Ctrl-C ends a loop of an interactive shell
    $ for i in 1 2 3; do holdfast run job -- ./stay; done; echo went-on
    > ready-now; C [130]
Ctrl-C runs the trap of the script
    $ bash -c 'trap "echo trap""ped" INT; holdfast run job -- ./stay; echo en""d $?'
    > ready-now; send \x03; > trapped; > end 130; ? [0]
the lock is released first
    $ bash -c 'trap "holdfast run -n job -- echo fr""ee" INT; holdfast run job -- ./stay; :'
    > ready-now; send \x03; > free; ? [0]
what ignores Ctrl-C is ended before the lock is released
    $ bash -c 'trap ./look INT; holdfast run -t 60s --kill-grace 300ms job -- ./linger; :'
    > ready-now; send \x03; > all-gone; ? [0]
Ctrl-C ends a script with a run inside a run
    $ bash -c 'holdfast run job -- holdfast run inner -- ./stay; echo went-on'
    > ready-now; C [130]
Ctrl-C ends a script where stdin is a pipe
    $ bash -c 'sleep 300 | holdfast run job -- ./stay; echo went-on'
    > ready-now; C [130]
Ctrl-C ends a loop around --again
    $ for i in 1 2 3; do holdfast run --again job -- ./stay; done; echo went-on
    > ready-now; C [130]
Ctrl-C ends a loop in the pause of --again
    $ for i in 1 2 3; do holdfast run --again --status-fd 2 job -- true; done; echo went-on
    > released; send \x03; > stopped by SIGINT while waiting; ? [130]
Ctrl-\ ends the script
    $ sh -c 'ulimit -c 0; holdfast run job -- ./stay; echo went-on'
    > ready-now; send \x1c; ? [131]
Ctrl-\ leaves no core of ours
    $ ulimit -c unlimited; holdfast run job -- ./stay
    > ready-now; send \x1c; > Quit; ~ ^[^(]*\[131\]PS>
a command that handles Ctrl-C lets the script go on
    $ bash -c 'holdfast run job -- ./handle; echo went""-on $?'
    > ready-now; send \x03; > went-on 130; ? [0]
so does one that another signal ends
    $ bash -c 'holdfast run job -- ./die; echo went""-on $?'
    > went-on 143; ? [0]
while waiting, Ctrl-C ends a script with run, or acquire
    $ holdfast run job -- ./stay &
    > ready-now
    $ bash -c 'holdfast run job -- true; echo went-on'
    ~ waiting [0-9]+s for job; send \x03; > stopped by SIGINT while waiting; ? [130]
    $ bash -c 'holdfast acquire job; echo went-on'
    ~ waiting [0-9]+s for job; send \x03; > stopped by SIGINT while waiting; ? [130]
    $ bash -c 'holdfast acquire --while-pid $$ job; echo went-on'
    ~ waiting [0-9]+s for job; send \x03; > stopped by SIGINT while waiting; ? [130]
    $ kill %1; wait %1
    ?
X

# The shell makes 130 of both, so a program has to look.
cat >"$W/code" <<'X'
import subprocess, sys
run = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
run.stdout.readline()
run.send_signal(2)
print(run.wait())
X
is "$(setsid -w python3 "$W/code" holdfast run job -- ./stay)" 130 \
    'without a terminal the exit code is 130'
finish
