#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ls -q NAME reports by its exit code, and ls on a terminal reports that nothing
# is locked.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 60
pty=$HF_BUILD/tests/lib/pty

answers() { # CODE TITLE NAME
    capture holdfast ls -q "$3"
    is "$code:$out$err" "$1:" "$title: $2: exit $1, and no word"
}

test_store() { # TITLE
    local title=$1 owner
    answers 1 'free' job
    owner=$(holdfast acquire -t 30s job | cut -d' ' -f1)
    answers 0 'held' job
    holdfast release job --owner "$owner"
    answers 1 'released' job
    owner=$(holdfast acquire -t 30s 'job[1]' | cut -d' ' -f1)
    answers 0 'held, with a bracket' --name='job[1]'
    holdfast release 'job[1]' --owner "$owner"
    answers 1 'released, with a bracket' --name='job[1]'
    owner=$(holdfast acquire -s -t 30s job | cut -d' ' -f1)
    answers 0 'shared' job
    holdfast release job --owner "$owner"
    holdfast run --min-hold 1m kept -- true
    answers 1 'kept taken after its end' kept
    holdfast break --now kept >"$W/log"
}
export HOLDFAST_URL=local://$W/store
test_store embedded
capture holdfast ls
is "$code:$out" 0: 'ls of nothing prints nothing to a program'
printf 'expect nothing is locked\r\nexpect ended 0\n' >"$W/script"
ok 'on a terminal it says so' timeout 30 "$pty" sh -c \
    'holdfast ls; echo ended $?' <"$W/script"
printf 'expect nothing is locked that matches a*\nexpect ended 0\n' >"$W/script"
ok 'and of a pattern' timeout 30 "$pty" sh -c \
    'holdfast ls "a*"; echo ended $?' <"$W/script"
server_start one
HOLDFAST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=1s"
test_store 'one redis'
server_kill one
capture holdfast ls -q job
is "$code" 69 'a store that is away: 69'

# ---- Servers in quarantine may have lost the lock --------------------------

title=quarantine
server_start two
HOLDFAST_URL=${SERVER_URL[two]}
servers_declare "$HOLDFAST_URL"
holdfast acquire -t 1m job >"$W/log"
answers 0 'before it is emptied' job
server_cli two flushall >"$W/log"
few='as too few servers count \(.*shows no trace of Holdfast'
capture holdfast ls -q job
like "$code:$out:$err" "^69::holdfast: job: it may be held, $few" \
    'the only server was emptied: 69'
capture holdfast ls
like "$code:$out:$err" "^0::holdfast: ls: locks may be missing, $few" \
    'and the list says that it may be incomplete'
capture holdfast ls --json
like "$code:$out:$err" "^0::holdfast: ls: locks may be missing, $few" \
    'and in JSON'
capture holdfast ls -q
is "$code:$out$err" 0: 'but with -q it does not'
capture holdfast ls job
like "$code:$out:$err" '^0:job: free.*quarantined: does not count\)[[:space:]]*:$' \
    'and the name is shown as before'

servers_start 3
HOLDFAST_URL=$URLS
servers_declare "$URLS"
holdfast acquire -t 1m job >"$W/log"
server_cli s1 flushall >"$W/log"
answers 0 'held, one of three emptied' job
answers 1 'free, one of three emptied' other
capture holdfast ls
is "$code:$err" 0: 'one of three emptied: the list is complete'
server_cli s2 flushall >"$W/log"
answers 0 'held on the only server that counts' job
capture holdfast ls -q other
like "$code:$out:$err" "^69::holdfast: other: it may be held, $few" \
    'two of three emptied: a free name may be held'
capture holdfast ls
like "$out" 'job +exclusive' 'two of three emptied: what the third holds is listed'
finish
