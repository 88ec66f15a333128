#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# acquire, extend, release, ls, break: locks that outlive a command.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 120

# Cases that are the same on every store.
test_store() { # TITLE
    local title=$1 line owner fence left again start
    capture holdfast acquire -t 20s --label 'me & "you"' job
    is "$code:$err" 0: "$title: acquire"
    like "$out" '^[0-9a-f]{32}:[^ @]+@[0-9]+/20000 [0-9]+ [0-9]+\.[0-9]{3}$' \
        "$title: prints OWNER@FENCE/TTL FENCE SECONDS_LEFT"
    read -r owner fence left <<<"$out"
    is "${owner##*@}" "$fence/20000" "$title: the fence twice"
    ok "$title: the lease ($left s)" test "${left%.*}" -ge 10
    is "$(holdfast acquire -n job 2>/dev/null; echo $?)" 75 "$title: taken"
    capture holdfast run -n job -- true
    is "$code" 75 "$title: run does not get it"

    capture holdfast ls
    like "$out" '^NAME +MODE +HOLDER +SINCE +LEFT +FENCE +WAITING +LABEL' "$title: ls: a table"
    like "$out" "job +exclusive +[^ ]+ +[0-9]+ .*$fence +- +me & \"you\"" "$title: ls: the holder"
    capture holdfast ls --json 'j*'
    is "$(printf '%s' "$out" | jq -r '[.name,.state,.label,.fence]|@csv')" \
        "\"job\",\"held\",\"me & \"\"you\"\"\",$fence" "$title: ls --json"
    capture holdfast ls 'k*'
    is "$code:$out" 0: "$title: ls: nothing that does not match"
    capture holdfast ls job
    like "$out" "^job: held by .* pid [0-9]+ since .* \\(me & \"you\"\\), frees by .*, fence $fence" \
        "$title: ls NAME"
    lines=$(printf '%s\n' "$out" | wc -l)
    ok "$title: ls NAME: node by node, those that agree in one line" \
        test "$lines" -ge 2 -a "$lines" -le $((1 + nodes))
    capture holdfast ls --json job
    is "$(printf '%s' "$out" | jq '.nodes|length')" "$nodes" \
        "$title: ls --json NAME: nodes"
    capture holdfast ls nothing
    like "$code:$out" '^0:nothing: free' "$title: ls of a free name"

    # extend
    HOLDFAST_OWNER=$owner capture holdfast extend job -t 30s
    is "$code:$err" 0: "$title: extend by HOLDFAST_OWNER"
    read -r again _ left <<<"$out"
    is "$again" "${owner%/*}/30000" "$title: extend: the same owner and fence"
    ok "$title: extend: the new lease ($left s)" test "${left%.*}" -ge 20
    capture holdfast extend job --owner "${owner/[0-9a-f]/x}"
    is "$code" 64 "$title: extend: malformed owner"
    other=$(tr 0-9a-f 1-9a-f0 <<<"${owner%%:*}"):${owner#*:}
    capture holdfast extend job --owner "$other"
    is "$code" 76 "$title: extend of another owner: 76"
    like "$err" '^holdfast: job: ' "$title: extend: one line"
    capture holdfast release job --owner "$other"
    is "$code" 76 "$title: release of another owner: 76"
    is "$(holdfast acquire -n job 2>/dev/null; echo $?)" 75 \
        "$title: which changed nothing"

    # release
    HOLDFAST_OWNER=$owner capture holdfast release job
    is "$code:$out$err" 0: "$title: release"
    capture holdfast release job --owner "$owner"
    is "$code" 76 "$title: release again: 76"
    capture holdfast extend job --owner "$owner"
    is "$code" 76 "$title: extend never brings it back"
    read -r again now _ < <(holdfast acquire -n -t 300ms job)
    ok "$title: the fence rose" test "$now" -gt "$fence"
    ok "$title: the lease ends by itself" holdfast run -w 20 job -- true
    capture holdfast extend job --owner "$again"
    is "$code" 76 "$title: extend after the end: 76"
    diag "$err"

    # JSON
    out=$(holdfast acquire --json 'a "b"' -t 10s)
    is "$(jq -r .name <<<"$out")" 'a "b"' "$title: acquire --json"
    ok "$title: release by it" holdfast release 'a "b"' \
        --owner "$(jq -r .owner <<<"$out")"
    name=$'bad\xffname\n'
    owner=$(holdfast acquire "$name" | cut -d' ' -f1)
    is "$(holdfast ls --json 'bad*' | jq -r .name_hex)" 626164ff6e616d650a \
        "$title: ls --json: bytes that are not UTF-8"
    like "$(holdfast ls)" 'bad\\xffname\\x0a' "$title: ls: shown, not sent raw"
    holdfast release "$name" --owner "$owner"

    # break
    read -r owner fence _ < <(holdfast acquire -t 2s job)
    capture holdfast break --now job
    is "$code" 0 "$title: break --now"
    like "$out" '^job was taken from [^ ]+ pid [0-9]+ and is free; two may run until [0-9:]+ \(' \
        "$title: break --now says until when two may run"
    capture holdfast release job --owner "$owner"
    is "$code" 76 "$title: break: the old holder has lost it"
    again=$(holdfast run -n job -- sh -c 'echo $HOLDFAST_FENCE')
    ok "$title: break: the fence moved on" test "$again" -gt "$fence"
    start=$(now_ms)
    read -r owner fence _ < <(holdfast acquire -t 1s job)
    capture holdfast break job
    like "$code:$out" '^0:job was taken from [^ ]+ pid [0-9]+ and is free$' \
        "$title: break waits"
    start=$(($(now_ms) - start))
    ok "$title: break: until the lease was over ($start ms)" \
        test $start -ge 980 -a $start -lt 10000
    capture holdfast break job
    is "$code" 0 "$title: break of a free name"
    is "$(holdfast break --json --now job | jq .two_may_run_ms)" 0 \
        "$title: break --json"
}

command -v jq >/dev/null || skip_all 'no jq'
export HOLDFAST_URL=local://$W/store
nodes=1
test_store embedded
server_start one
HOLDFAST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=3s"
test_store 'one redis'
servers_start 3
# These cases test the votes of nodes, and not their speed: a long node_timeout.
HOLDFAST_URL="$URLS?quarantine=off&node_timeout=2s"
nodes=3
test_store 'three redis'

# Characters that cannot be printed are escaped, and parsed again.
HOLDFAST_URL=local://$W/store
capture sh -c 'holdfast acquire unprinted >/dev/full'
is "$code" 70 'acquire with a full stdout: 70'
like "$err" '^holdfast: stdout: No space left on device$' 'and says so'
ok 'and the lock is free' holdfast run -n unprinted -- true
set +o pipefail
mkfifo "$W/pipe"
exec 8<>"$W/pipe" 9>"$W/pipe" 8<&-
capture sh -c 'holdfast acquire unprinted >&9'
exec 9>&-
is "$code" 70 'acquire without a reader of its pipe: 70'
ok 'is given back too' holdfast run -n unprinted -- true
owner=$(holdfast acquire printed | cut -d' ' -f1)
HOLDFAST_OWNER=$owner capture sh -c 'holdfast extend printed >/dev/full'
is "$code" 70 'extend with a full stdout: 70'
like "$err" '^holdfast: extended, but stdout: No space left on device$' 'and says so'
capture holdfast run -n printed -- true
is "$code" 75 'its caller, who has the owner, keeps the lock'
capture bash -c '{ ulimit -f 0; holdfast acquire limited 2>&1 >"$0"; echo $?; } | cat' "$W/limited"
is "$out" $'holdfast: stdout: File too large\n70' 'acquire with a file at its size limit: 70'
ok 'and the lock is free' holdfast run -n limited -- true
capture bash -c '{ ulimit -f 0; holdfast acquire -u "local://$0/new" limited; echo $?; } 2>&1 | cat' "$W"
like "$out" $'^holdfast: .*limit on the size of files is reached \\(ulimit -f\\)\n69$' 'acquire with a store at its size limit: 69'
# Renewed: with a sanitizer 300 commands take longer than a lease.
holders=()
end_holders() {
    [ ${#holders[@]} = 0 ] || kill "${holders[@]}" 2>/dev/null
}
at_exit end_holders
for i in 0 60 120 180 240; do
    mapfile -t names < <(seq -f 'many%g' $((i + 1)) $((i + 60)))
    holdfast run "${names[@]}" -- sleep 1000 &
    holders+=($!)
done
are_listed() { [ "$(holdfast ls | wc -l)" = 301 ]; }
ok 'ls of 300 names, and its header' wait_until 30 are_listed
is "$(holdfast ls --json 'many1?' | wc -l)" 10 'a pattern'
ok 'sorted' sort -c <(holdfast ls --json | jq -r .name)
capture sh -c 'holdfast ls >/dev/full'
is "$code" 70 'ls with a full stdout: 70'
is "$(holdfast ls | head -n 1 | cut -d' ' -f1)" NAME 'ls into head'

# doctor
capture holdfast doctor
ok 'doctor of the embedded store: fit or warnings' test "$code" -le 1
like "$out" 'fit for locks' 'doctor says so'
server_start fresh
HOLDFAST_URL=${SERVER_URL[fresh]}
capture holdfast run -n x -- true
is "$code" 69 'a fresh server: 69'
like "$err" 'shows no trace of Holdfast .*it counts in [0-9]+ s' 'and why'
unlike "$err" 'doctor --init' 'a message never proposes --init'
ok 'doctor --init' holdfast doctor --init
ok 'then it counts' holdfast run -n x -- true
capture holdfast doctor --json
like "$(jq -r .severity <<<"$out" | sort -u | xargs)" '^(ok|warning| )+$' 'doctor --json'
server_kill fresh
capture holdfast doctor
is "$code" 2 'doctor of a dead server: unfit'
finish
