# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Processes that contend for one name while servers fail. Source after holders.sh.
# Each holder locks a witness file, which shows two at once; fences must rise.
#
#   contend_start N      N processes run one command after the other, under the
#                        name `job`, with $HOLDFAST_URL
#   contend_goes_on TITLE SECONDS  a case: as many grants as all have twice
#   CONTEND_MAY=TEXT     a command that ends with 76 and has reported TEXT has run
#                        nothing: no trouble
#   contend_end          the processes end; cases: never two at once, each command
#                        was run, fences rose

cat >"$W/section" <<'X'
#!/bin/sh
exec 8>>"$1/witness"
flock -n 8 || echo "two at once: $HOLDFAST_FENCE" >>"$1/trouble"
echo "$HOLDFAST_FENCE" >>"$1/grants"
sleep 0.02 # sleeps: the load
X
chmod +x "$W/section"
: >"$W/grants"
contenders=() CONTEND_MAY=''

contend() {
    local code err
    while [ ! -e "$W/stop" ]; do
        err=$(holdfast run -q -t 8s -w 2m job -- "$W/section" "$W" 2>&1)
        code=$?
        [ -z "$err" ] || echo "$err" >>"$W/complaints"
        [ $code = 0 ] || [[ $code = 76 && -n $CONTEND_MAY && $err == *"$CONTEND_MAY"* ]] ||
            echo "a command ended with $code: $err" >>"$W/trouble"
    done
}

contend_start() {
    local i
    rm -f "$W/stop"
    for ((i = 0; i < $1; i++)); do
        contend &
        contenders[i]=$!
        pids+=($!)
    done
}

contend_goes_on() {
    local since want
    since=$(wc -l <"$W/grants")
    want=$((since + 2 * ${#contenders[@]}))
    has_more() { [ "$(wc -l <"$W/grants")" -ge "$want" ]; }
    ok "$1: they are granted the lock" wait_until "$2" has_more
}

contend_end() {
    local pid
    touch "$W/stop"
    for pid in "${contenders[@]}"; do
        wait "$pid"
    done
    contenders=()
    is "$(cat "$W/trouble" 2>/dev/null)" '' 'never two at once, and each command is run'
    ok 'fences rise' sort -nCu "$W/grants"
    diag "$(wc -l <"$W/grants") grants; $(sort "$W/complaints" 2>/dev/null | uniq -c)"
}
