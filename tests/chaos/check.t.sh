#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The checker finds each violation in forged histories, and no other.
. "$(dirname "$0")/../lib/tap.sh"

check=$HF_BUILD/tests/chaos/check
H=$W/history

line() { # FILE MS TEXT
    printf '{"t":%d000000,%s}\n' "$2" "$3" >>"$H/$1.jsonl"
}

begin() { # CLIENT ATTEMPT LOCK MODE MS
    line "$1" "$5" "\"ev\":\"begin\",\"a\":$2,\"lock\":\"$3\",\"mode\":\"$4\",\"limit\":2,\"wait\":0"
}

# A hold from OK to END, with a lease that is valid until OK + LEFT.
hold() { # CLIENT ATTEMPT LOCK MODE BEGIN OK END FENCE [LEFT [SLOT]]
    begin "$1" "$2" "$3" "$4" "$5"
    line "$1" "$6" "\"ev\":\"ok\",\"a\":$2,\"fence\":$8,\"slot\":${10:--1},\"left\":${9:-1000}"
    [ "$7" = - ] && return
    line "$1" "$7" "\"ev\":\"release\",\"a\":$2"
    line "$1" "$7" "\"ev\":\"released\",\"a\":$2,\"status\":\"HF_OK\""
}

access() { # read|write KIND LOCK MS FENCE BASE VALUE [OK]
    line register "$4" "\"ev\":\"$1\",\"kind\":\"$2\",\"lock\":\"$3\",\"by\":\"c1.1\",\"fence\":$5,\"base\":$6,\"value\":$7,\"ok\":${8:-1}"
}

fault() { # NAME EXCLUSION ORDER ON OFF
    line nemesis "$4" "\"ev\":\"on\",\"fault\":\"$1\",\"epoch\":1,\"exclusion\":$2,\"order\":$3"
    line nemesis "$5" "\"ev\":\"off\",\"fault\":\"$1\",\"epoch\":1,\"exclusion\":$2,\"order\":$3"
}

up() { # CLIENT MS
    line nemesis "$2" "\"ev\":\"up\",\"client\":\"$1\""
}

down() { # CLIENT MS
    line nemesis "$2" "\"ev\":\"down\",\"client\":\"$1\""
}

# Two clients that acquire before, during and after a partition.
good() {
    rm -rf "$H"
    mkdir "$H"
    up c1.1 100
    up c2.1 100
    fault cut 1 1 2000 3000
    line nemesis 3001 '"ev":"heal","epoch":1'
    hold c1.1 1 e1.x x 1000 1010 1100 1
    hold c2.1 1 e1.x x 1050 1110 1200 2
    hold c1.1 2 e1.x x 3100 3110 3200 3
    hold c2.1 2 e1.x x 3150 3210 3300 4
    access read g e1.x 1020 1 0 0
    access write g e1.x 1030 1 0 1
    access read g e1.x 1120 2 0 1
    access write u e1.x 1125 2 0 1
    access write g e1.x 1130 2 1 2
}

# The history of a row: the good one and its EVENTs. Each is `hold`, `fault` …
# with its arguments, or CLIENT and what follows ATTEMPT in a hold: its third.
forge() { # EVENT...
    local event words
    good
    for event; do
        read -ra words <<<"$event"
        case $event in
        c[0-9]*) hold "${words[0]}.1" 3 "${words[@]:1}" ;;
        *) "${words[@]}" ;;
        esac
    done
    line nemesis 9000 '"ev":"stop"'
}

judge() { # WHAT EVENT...: sets $out, $code
    forge "${@:2}"
    capture "$check" -r "$W/report" "ours=$H"
    [ "$(wc -l <"$W/report")" -gt 20 ] || fail "$1: a report"
}

accepted() { # WHAT EVENT...
    judge "$@"
    is "$code$(grep '^not ok' <<<"$out")" 0 "accepted: $1"
}

# Only PROMISE, a regex, is reported as broken.
refused() { # PROMISE WHAT EVENT...
    judge "${@:2}"
    is "$code" 1 "refused: $2"
    like "$(grep '^not ok' <<<"$out")" "^not ok - ours: $1: [0-9]+ do[^"$'\n'"]*$" \
        "$2: and that is what it says"
}

reported() { # REGEX WHAT: in the report of the row before
    like "$(cat "$W/report")" "$1" "$2"
}

overlap='no two believe at once that they hold'
twice='no fence twice'
order='fences rise in the order of time'
whole='the history is whole'
again='every client acquires again after each heal'

accepted "a good history"
is "$(grep -c '^ok - ' <<<"$out")" 9 "each promise has its line"
reported '\| cut \| both \| 1 \| 4 \| 0 \|' "and the cut its row"

# Each row: a verdict, what it is about, and the events after the good history.
# A hold: CLIENT LOCK MODE BEGIN OK END FENCE [LEFT [SLOT]].
# ---- Exclusion
refused "$overlap" "one millisecond of two holders" \
    'c1 e1.x x 4000 4010 4500 5' 'c2 e1.x x 4000 4499 4600 6'
reported '0 \(longest|1 \(longest 1 ms\)' "how long is reported"
accepted "one follows at the instant of the other's release" \
    'c1 e1.x x 4000 4010 4499 5' 'c2 e1.x x 4000 4499 4600 6'
accepted "a killed holder is followed when its lease is over" \
    'c1 e1.x x 4000 4010 - 5 400' 'c2 e1.x x 4000 4410 4500 6'
refused "$overlap" "a killed holder is followed before" \
    'c1 e1.x x 4000 4010 - 5 400' 'c2 e1.x x 4000 4409 4500 6'
refused "$overlap" "a renewed lease is not waited for" \
    'c1 e1.x x 4000 4010 - 5 100' 'line c1.1 4050 "ev":"obs","a":3,"left":900' \
    'c2 e1.x x 4000 4200 4500 6'
accepted "a client that was told of the loss believes no more" \
    'c1 e1.x x 4000 4010 - 5 900' 'line c1.1 4300 "ev":"lost","a":3' \
    'line c1.1 4600 "ev":"release","a":3' \
    'line c1.1 4600 "ev":"released","a":3,"status":"HF_LOST"' \
    'c2 e1.x x 4000 4301 4500 6'
accepted "a callback reports a loss when the next attempt has begun" \
    'c1 e1.x x 4000 4010 4500 5' 'begin c1.1 4 e1.x x 4600' \
    'line c1.1 4601 "ev":"lost","a":3' \
    'line c1.1 4700 "ev":"ok","a":4,"fence":6,"slot":-1,"left":100'
accepted "two holders while clocks are wrong" 'fault clock-ahead 0 1 3900 4200' \
    'c1 e1.x x 4000 4010 4500 5' 'c2 e1.x x 4000 4100 4600 6'
like "$out" 'hold \(where it is not promised: 1\)' "it is counted"
refused "$overlap" "two holders of a name that was not in use then" \
    'fault clock-ahead 0 1 3900 3950' \
    'c1 e2.x x 4000 4010 4500 5' 'c2 e2.x x 4000 4100 4600 6'

# ---- Sharing
accepted "two readers, with one fence" \
    'c1 e1.rw s 4000 4010 4500 5' 'c2 e1.rw s 4000 4100 4600 5'
refused "$overlap" "a reader and a writer" \
    'c1 e1.rw s 4000 4010 4500 5' 'c2 e1.rw x 4000 4100 4600 6'
refused "$overlap" "a writer and a reader" \
    'c1 e1.rw x 4000 4010 4500 5' 'c2 e1.rw s 4000 4100 4600 6'
refused "$twice" "a reader with a writer's fence" \
    'c1 e1.rw x 4000 4010 4100 5' 'c2 e1.rw s 4000 4200 4600 5'
refused "$order" "a reader below a writer of before" \
    'c1 e1.rw x 4000 4010 4100 5' 'c2 e1.rw s 4150 4200 4600 4'

# ---- Permits
accepted "two permits of two, each with its own fences" \
    'c1 e1.sem p 4000 4010 4500 5 1000 0' 'c2 e1.sem p 4000 4100 4600 5 1000 1'
refused "$overlap" "one permit twice" \
    'c1 e1.sem p 4000 4010 4500 5 1000 0' 'c2 e1.sem p 4000 4100 4600 6 1000 0'
refused 'no more permits than there are' "a third permit of two" \
    'c1 e1.sem p 4000 4010 4500 5 1000 2'

# ---- Fences
refused "$twice" "a fence twice" \
    'c1 e1.x x 4000 4010 4100 5' 'c2 e1.x x 4005 4110 4200 5'
refused "$order" "a smaller fence, begun after the other was complete" \
    'c1 e1.x x 4000 4010 4100 6' 'c2 e1.x x 4050 4110 4200 5'
accepted "a smaller fence, begun before the other was complete" \
    'c1 e1.x x 4000 4010 4100 6' 'c2 e1.x x 4009 4110 4200 5'
accepted "a fence twice where servers were flushed" 'fault flush 0 0 3900 4000' \
    'c1 e1.x x 4000 4010 4100 5' 'c2 e1.x x 4050 4110 4200 5'

# ---- Registers
refused 'the guarded register takes no smaller fence' \
    "the guarded register takes an older fence" 'access write g e1.x 1140 1 2 3'
accepted "the guarded register refuses an older fence" \
    'access write g e1.x 1140 1 2 2 0'
reported 'fence refused \| 1 \|' "it is counted"
refused 'the guarded register loses no update' \
    "an update lost in the guarded register" 'access write g e1.x 1140 3 1 2'
accepted "an update lost in the unguarded register" \
    'access write u e1.x 1140 3 0 1'
reported 'lost in the unguarded register \| 1 \|' "it is counted"

# ---- Liveness
refused "$again" "a client that acquires nothing after a heal" 'up c3.1 100'
accepted "but a killed one need not" 'up c3.1 100' 'down c3.1 3500'
forge 'up c3.1 100' 'c3 e2.x x 5000 5100 5200 1'
is "$("$check" -b 2 "ours=$H" | grep -c '^not ok .* after each heal')" 1 \
    "one that takes longer than it may"
is "$("$check" -b 3 "ours=$H" | grep -c '^not ok')" 0 "or not"

# ---- The history itself
refused "$whole" "an end without a beginning" \
    'line c1.1 4000 "ev":"ok","a":9,"fence":9,"slot":-1,"left":900'
refused "$whole" "a loss without a beginning" 'line c1.1 4000 "ev":"lost","a":9'
refused "$whole" "a clock that goes back" 'begin c1.1 3 e1.x x 50'

rm -rf "$H" && mkdir "$H"
up c1.1 100
touch "$H/register.jsonl"
line nemesis 9000 '"ev":"stop"'
capture "$check" "ours=$H"
is "$code" 1 "nothing was acquired: nothing was shown"

forge 'c1 e1.x x 4000 4010 4500 5' 'c2 e1.x x 4000 4100 4600 5'
capture "$check" -r "$W/report" "~theirs=$H"
is "$code$out" 0 "other libraries are not judged"
reported 'promised not to happen\*\* \| 1 \(longest 400 ms\)' "but reported"
finish
