#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# Keys of other programs in the place of our locks, servers that are configured
# for other uses, and addresses without a server: the message for each.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"

busy() { # NAME LIKE TITLE
    capture holdfast run -n -u "$L" "$1" -- true
    is "$code" 75 "$3: busy"
    like "$err" "$2" "$3: says so"
}

# ---- Keys of other programs ------------------------------------------------

server_start one
L="${SERVER_URL[one]}?quarantine=off"
server_cli one set lock:word 'other program' >"$W/log"
server_cli one set lock:soon else px 60000 >"$W/log"
server_cli one rpush lock:list a >"$W/log"
busy word 'held by another kind of client \(other%20program\), without expiry' \
    "a word for ever"
busy soon 'held by another kind of client \(else\), lease ends in' \
    "a word with an expiry"
busy list 'its key has another type\), without expiry' "a list"
capture holdfast ls --json -u "$L"
is "$(jq -r .name <<<"$out" | sort | tr '\n' ' ')" "list soon word " \
    "ls: all of them"
capture holdfast ls -u "$L" list
is "$code" 0 "ls: of one"
owner=$(holdfast acquire -u "$L" --shared job)
busy job 'held by others who share it, lease ends in' "a shared lock"
capture holdfast run -n -u "$L" --shared job -- true
is "$code" 0 "shared once more"
capture holdfast break -u "$L" word
is "$code" 75 "break: not before its end, which never comes"
capture holdfast break --now -u "$L" word
is "$code" 0 "break now: a word"
capture holdfast break --now -u "$L" list
is "$code" 0 "break now: a list"
is "$(server_cli one exists lock:word lock:list)" 0 "both are gone"

# ---- A counter that was edited ----------------------------------------------

for edit in 'set abc' 'rpush abc' 'set nan'; do
    read -r command text <<<"$edit"
    server_cli one del 'hf:{lock:edited}:fence' >"$W/log"
    server_cli one "$command" 'hf:{lock:edited}:fence' "$text" >"$W/log"
    capture holdfast run -n -u "$L" edited -- true
    is "$code" 69 "edited ($edit): no lock"
    like "$err" "'holdfast break'.*key hf:\{lock:edited\}:fence\$" \
        "... the key is named, and the remedy"
    unlike "$err" HFFENCE "... in words"
    capture holdfast break -u "$L" edited
    is "$code" 0 "... which is a break"
    capture holdfast run -n -u "$L" edited -- true
    is "$code" 0 "... and then it can be locked"
done

# ---- Side keys of another type ----------------------------------------------

mistyped() { # SIDE ARGUMENT…
    local side=$1
    shift
    server_cli one set "hf:{lock:typed}:$side" text >"$W/log"
    capture holdfast run -n -u "$L" "$@" typed -- true
    is "$code" 69 "$side of another type: no lock"
    like "$err" "key hf:\{\.\.\.\}:$side is of another type: delete that key" \
        "... the key is named, and the remedy"
    server_cli one del "hf:{lock:typed}:$side" >"$W/log"
    holdfast break -q --now -u "$L" typed
    capture holdfast run -n -u "$L" "$@" typed -- true
    is "$code" 0 "... which helps"
}
mistyped queue
mistyped waiters --shared
owner=$(holdfast acquire -u "$L" --shared typed)
mistyped holders --shared
owner=$(holdfast acquire -u "$L" --shared typed)
mistyped votes --shared

# ---- Three servers that disagree -------------------------------------------

servers_start 3
three="${URLS// /?quarantine=off }?quarantine=off"
for i in 1 2 3; do
    server_cli "s$i" set lock:three "other$i" >"$W/log"
done
server_cli s1 set lock:minority other1 >"$W/log"
server_cli s1 set lock:two other px 60000 >"$W/log"
server_cli s2 set lock:two other >"$W/log"
server_cli s3 set lock:two third >"$W/log"
capture holdfast ls --json -u "$three"
is "$code" 0 "ls, of servers that disagree"
is "$(jq -r .name <<<"$out" | sort | tr '\n' ' ')" "three two " \
    "a name that no majority has free is shown"
capture holdfast ls -u "$three" three
is "$code" 0 "ls, of a name that all have otherwise"
L=$three
busy two 'held by another kind of client \(other\)' "a majority without expiry"
capture holdfast run -n -u "$three" minority -- true
is "$code" 0 "a minority does not hold"
capture holdfast run -n -u "$three" three -- true
is "$code" 75 "three of three have it, each for another"
server_stop s1
server_stop s2
server_stop s3

# ---- doctor ----------------------------------------------------------------

L=${SERVER_URL[one]}
diagnosed() { # CODE LIKE TITLE
    capture holdfast doctor -u "$L"
    is "$code" "$1" "doctor, $3: $1"
    like "$out" "$2" "doctor, $3: says so"
}
diagnosed 2 'locks from before may still be held.*holdfast doctor --init' "a new server"
capture holdfast doctor --init -u "$L" </dev/null
is "$code" 75 "keys of strangers are there: not declared"
capture holdfast doctor --init --force -u "$L"
is "$code" 0 "declared"
diagnosed 0 '(forgets|loses|nothing to disk|restart)' "without a disk"
server_cli one config set maxmemory-policy allkeys-lru >"$W/log"
diagnosed 1 'would evict locks if it ever got a maxmemory' "may evict"
server_cli one config set maxmemory 100mb >"$W/log"
diagnosed 2 'evicts keys when memory is short' "evicts"
server_cli one config set maxmemory-policy noeviction >"$W/log"
server_cli one acl setuser app on '>pw' '~*' '&*' +@all -config >"$W/log"
L="redis+unix://app:pw@${SERVER_SOCK[one]}"
diagnosed 1 'does not let us ask' "without CONFIG"
server_cli one acl setuser deaf on '>pw' '~*' +@all >"$W/log"
L="redis+unix://deaf:pw@${SERVER_SOCK[one]}"
capture holdfast run -n -u "$L" job2 -- true
is "$code" 0 "without channels: locks, all the same"
server_cli one acl setuser less on '>pw' '~*' '&*' +@all -info >"$W/log"
L="redis+unix://less:pw@${SERVER_SOCK[one]}"
capture holdfast doctor -u "$L"
like "$code" '^[012]$' "doctor, without INFO: a verdict"
server_cli one acl setuser none on '>pw' '~*' '&*' -@all >"$W/log"
L="redis+unix://none:pw@${SERVER_SOCK[one]}"
capture holdfast run -n -u "$L" job -- true
is "$code" 77 "a user without any right: 77"
server_start safe --aof always
L=${SERVER_URL[safe]}
holdfast doctor --init -q -u "$L"
diagnosed 0 'fit for locks' "with all on disk"
L=${SERVER_URL[one]}
server_pause one
capture holdfast doctor -u "$L"
is "$code" 2 "doctor, a stopped server: 2"
capture holdfast doctor --init -u "$L"
is "$code" 69 "doctor --init, a stopped server: 69"
server_resume one

# ---- Addresses -------------------------------------------------------------

unreached() { # URL TITLE
    capture holdfast run -n -u "$1" x -- true
    is "$code" 69 "$2: 69"
    is "$(wc -l <<<"$err")" 1 "$2: one line"
}
unreached redis://absent.invalid:6379 "a name that is none"
unreached 'redis://[fe80::1%25lo]:1' "an address with its interface"
unreached 'redis://[::1]:1' "an address of six"
server_start tcp --tcp
port=${SERVER_PORT[tcp]}
capture holdfast run -n -u "redis://localhost:$port?quarantine=off" x -- true
is "$code" 0 "a name with several addresses"
server_start sealed --tls
capture holdfast run -n \
    -u "${SERVER_URL[sealed]}?quarantine=off&tls_ca=$W/tls/ca.crt" x -- true
is "$code" 0 "sealed"
capture holdfast run -n \
    -u "${SERVER_URL[sealed]}?quarantine=off&tls_ca=$W/tls/other.crt" x -- true
is "$code" 69 "sealed by another: 69"
HOLDFAST_MODULE_DIR=$W capture holdfast run -n -u "${SERVER_URL[sealed]}" x \
    -- true
like "$code" '^(69|78)$' "without its module"
finish
