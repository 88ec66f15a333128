#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of sleeps: each kind is found, with its file and line, and those
# that are the step of a loop or have a reason are not.
. "$(dirname "$0")/../lib/tap.sh"

mkdir -p "$W/tree/tests/unit" "$W/tree/tests/cli" "$W/tree/tests/chaos"
cd "$W/tree" || exit
git init -q .

# Lines that say BAD must be found, and no other.
cat >tests/unit/a.c <<'X'
static void pause_ms(int64_t ms)
{
    nanosleep(&span, NULL); /* BAD */
    while (nanosleep(&span, &span) != 0) { /* BAD */
    }
    nanosleep(&span, NULL); /* sleeps: the load */
    /* sleeps: a slow client */
    usleep(DRIP_US);

    usleep(500); /* BAD */
    while (!is_there()) {
        usleep(50000);
    }
    for (int i = 0; i < 9 && !is_there(); i++) {
        if (is_late) {
            pause_ms(2);
        }
        usleep(50001); /* BAD */
    }
    do {
        usleep(1);
    } while (!is_there());
    for (; !is_there(); usleep(200)) {
    }
    pause_ms(IDLE_MS); /* BAD */
    sleep(1); /* BAD */
    wait_a_while(sleeper(20)); /* it sleeps (20 ms) */
}
X
cat >tests/unit/b.cc <<'X'
void f()
{
    while (!done) {
        std::this_thread::sleep_for(milliseconds(5));
    }
    std::this_thread::sleep_for(milliseconds(5)); /* BAD */
}
X
cat >tests/chaos/c.js <<'X'
  await sleep(25); // BAD
  await sleep(25); // sleeps: the load
X
cat >tests/cli/d.t.sh <<'X'
sleep 0.05 # BAD
until gone; do sleep 0.02; done
until gone; do sleep 0.2; done # BAD
while here; do
    tick
    sleep 0.05
done
    $ sleep 2.6; holdfast run # BAD
if now; then sleep 1; fi # BAD
holdfast run x -- sleep 5
holdfast run x -- sh -c 'touch "$0"; exec sleep 300' &
sleep 5 &
sleep 5 | holdfast run x -- cat
    sleep 300
# sleeps: longer than a lease
sleep 2
# sleeps: how long a command runs
holdfast run x -- \
    sh -c 'echo; sleep 0.2'
sleep "$long" # BAD
X
git add .
grep -rn BAD tests | sed 's/:\([0-9]*\):.*/:\1/' | sort >expected
capture "$HF_SOURCE/scripts/checks/sleeps"
is "$code" 1 "a tree with sleeps fails"
is "$(sed -n 's/^\(tests[^:]*:[0-9]*\):.*/\1/p' <<<"$out" | sort)" \
    "$(cat expected)" "each is found where it is, and no other"
like "$out" 'say why: "sleeps: REASON"' "what is allowed is said"

sed -i /BAD/d tests/*/*
capture "$HF_SOURCE/scripts/checks/sleeps"
is "$code:$out$err" 0: "without them the tree passes"
finish
