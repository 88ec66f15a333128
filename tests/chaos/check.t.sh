#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The checker of histories finds what it must, in histories that are forged.
. "$(dirname "$0")/../lib/tap.sh"

check=$HF_BUILD/tests/chaos/check
H=$W/history

line() { # FILE MS TEXT
    printf '{"t":%d000000,%s}\n' "$2" "$3" >>"$H/$1.jsonl"
}

begin() { # CLIENT ATTEMPT LOCK MODE MS
    line "$1" "$5" "\"ev\":\"begin\",\"a\":$2,\"lock\":\"$3\",\"mode\":\"$4\",\"limit\":2,\"wait\":0"
}

# A hold from OK to END, of a lease that may be relied on until OK + LEFT.
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

# Two clients, which both acquire before, during and after a cut.
good() {
    rm -rf "$H"
    mkdir "$H"
    line nemesis 100 '"ev":"up","client":"c1.1"'
    line nemesis 100 '"ev":"up","client":"c2.1"'
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

end() {
    line nemesis 9000 '"ev":"stop"'
}

verdict() { # WHAT: judged; sets $out, $code
    end
    capture "$check" -r "$W/report" "ours=$H"
    [ "$(wc -l <"$W/report")" -gt 20 ] || fail "$1: a report"
}

accepted() { # WHAT
    verdict "$1"
    is "$code$(grep '^not ok' <<<"$out")" 0 "accepted: $1"
}

# Only that promise, and nothing else, is said to be broken.
refused() { # WHAT REGEX
    verdict "$1"
    is "$code" 1 "refused: $1"
    like "$(grep '^not ok' <<<"$out")" "^not ok - ours: $2: [0-9]+ do[^"$'\n'"]*$" \
        "$1: and that is what it says"
}

overlap='no two believe at once that they hold'
twice='no fence twice'
order='fences rise in the order of time'

good
accepted "a good history"
is "$(grep -c '^ok - ' <<<"$out")" 9 "each promise has its line"
like "$(cat "$W/report")" '\| cut \| both \| 1 \| 4 \| 0 \|' "and the cut its row"

# ---- Exclusion
good
hold c1.1 3 e1.x x 4000 4010 4500 5
hold c2.1 3 e1.x x 4000 4499 4600 6
refused "one millisecond of two holders" "$overlap"
like "$(cat "$W/report")" '0 \(longest|1 \(longest 1 ms\)' "how long is reported"

good
hold c1.1 3 e1.x x 4000 4010 4499 5
hold c2.1 3 e1.x x 4000 4499 4600 6
accepted "one follows at the instant of the other's release"

good
hold c1.1 3 e1.x x 4000 4010 - 5 400
hold c2.1 3 e1.x x 4000 4410 4500 6
accepted "a killed holder is followed when its lease is over"

good
hold c1.1 3 e1.x x 4000 4010 - 5 400
hold c2.1 3 e1.x x 4000 4409 4500 6
refused "a killed holder is followed before" "$overlap"

good
hold c1.1 3 e1.x x 4000 4010 - 5 100
line c1.1 4050 '"ev":"obs","a":3,"left":900'
hold c2.1 3 e1.x x 4000 4200 4500 6
refused "a renewed lease is not waited for" "$overlap"

good
begin c1.1 3 e1.x x 4000
line c1.1 4010 '"ev":"ok","a":3,"fence":5,"slot":-1,"left":900'
line c1.1 4300 '"ev":"lost","a":3'
line c1.1 4600 '"ev":"release","a":3'
line c1.1 4600 '"ev":"released","a":3,"status":"HF_LOST"'
hold c2.1 3 e1.x x 4000 4301 4500 6
accepted "a client that was told of the loss believes no more"

good
fault clock-ahead 0 1 3900 4200
hold c1.1 3 e1.x x 4000 4010 4500 5
hold c2.1 3 e1.x x 4000 4100 4600 6
accepted "two holders while clocks are wrong"
like "$out" 'hold \(where it is not promised: 1\)' "it is counted"

good
fault clock-ahead 0 1 3900 3950
hold c1.1 3 e2.x x 4000 4010 4500 5
hold c2.1 3 e2.x x 4000 4100 4600 6
refused "two holders of a name that was not in use then" "$overlap"

# ---- Sharing
good
hold c1.1 3 e1.rw s 4000 4010 4500 5
hold c2.1 3 e1.rw s 4000 4100 4600 5
accepted "two readers, with one fence"

good
hold c1.1 3 e1.rw s 4000 4010 4500 5
hold c2.1 3 e1.rw x 4000 4100 4600 6
refused "a reader and a writer" "$overlap"

good
hold c1.1 3 e1.rw x 4000 4010 4500 5
hold c2.1 3 e1.rw s 4000 4100 4600 6
refused "a writer and a reader" "$overlap"

good
hold c1.1 3 e1.rw x 4000 4010 4100 5
hold c2.1 3 e1.rw s 4000 4200 4600 5
refused "a reader with a writer's fence" "$twice"

good
hold c1.1 3 e1.rw x 4000 4010 4100 5
hold c2.1 3 e1.rw s 4150 4200 4600 4
refused "a reader below a writer of before" "$order"

# ---- Permits
good
hold c1.1 3 e1.sem p 4000 4010 4500 5 1000 0
hold c2.1 3 e1.sem p 4000 4100 4600 5 1000 1
accepted "two permits of two, each with its own fences"

good
hold c1.1 3 e1.sem p 4000 4010 4500 5 1000 0
hold c2.1 3 e1.sem p 4000 4100 4600 6 1000 0
refused "one permit twice" "$overlap"

good
hold c1.1 3 e1.sem p 4000 4010 4500 5 1000 2
refused "a third permit of two" 'no more permits than there are'

# ---- Fences
good
hold c1.1 3 e1.x x 4000 4010 4100 5
hold c2.1 3 e1.x x 4005 4110 4200 5
refused "a fence twice" "$twice"

good
hold c1.1 3 e1.x x 4000 4010 4100 6
hold c2.1 3 e1.x x 4050 4110 4200 5
refused "a smaller fence, begun after the other was complete" "$order"

good
hold c1.1 3 e1.x x 4000 4010 4100 6
hold c2.1 3 e1.x x 4009 4110 4200 5
accepted "a smaller fence, begun before the other was complete"

good
fault flush 0 0 3900 4000
hold c1.1 3 e1.x x 4000 4010 4100 5
hold c2.1 3 e1.x x 4050 4110 4200 5
accepted "a fence twice where servers were flushed"

# ---- Registers
good
access write g e1.x 1140 1 2 3
refused "the guarded register takes an older fence" \
    'the guarded register takes no smaller fence'

good
access write g e1.x 1140 1 2 2 0
accepted "the guarded register refuses an older fence"
like "$(cat "$W/report")" 'fence refused \| 1 \|' "it is counted"

good
access write g e1.x 1140 3 1 2
refused "an update lost in the guarded register" \
    'the guarded register loses no update'

good
access write u e1.x 1140 3 0 1
accepted "an update lost in the unguarded register"
like "$(cat "$W/report")" 'lost in the unguarded register \| 1 \|' "it is counted"

# ---- Liveness
good
line nemesis 100 '"ev":"up","client":"c3.1"'
refused "a client that acquires nothing after a heal" \
    'every client acquires again after each heal'

good
line nemesis 100 '"ev":"up","client":"c3.1"'
line nemesis 3500 '"ev":"down","client":"c3.1"'
accepted "but a killed one need not"

good
line nemesis 100 '"ev":"up","client":"c3.1"'
hold c3.1 1 e2.x x 5000 5100 5200 1
end
is "$("$check" -b 2 "ours=$H" | grep -c '^not ok .* after each heal')" 1 \
    "one that takes longer than it may"
is "$("$check" -b 3 "ours=$H" | grep -c '^not ok')" 0 "or not"

# ---- The history itself
good
line c1.1 4000 '"ev":"ok","a":9,"fence":9,"slot":-1,"left":900'
refused "an end without a beginning" 'the history is whole'

good
line c1.1 50 '"ev":"begin","a":3,"lock":"e1.x","mode":"x","limit":0,"wait":0'
refused "a clock that goes back" 'the history is whole'

rm -rf "$H" && mkdir "$H"
line nemesis 100 '"ev":"up","client":"c1.1"'
touch "$H/register.jsonl"
end
capture "$check" "ours=$H"
is "$code" 1 "nothing was acquired: nothing was shown"

good
hold c1.1 3 e1.x x 4000 4010 4500 5
hold c2.1 3 e1.x x 4000 4100 4600 5
end
capture "$check" -r "$W/report" "~theirs=$H"
is "$code$out" 0 "other libraries are not judged"
like "$(cat "$W/report")" 'promised not to happen\*\* \| 1 \(longest 400 ms\)' \
    "but reported"
finish
