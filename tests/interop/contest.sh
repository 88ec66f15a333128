# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Eight processes of ours and eight of another library contend for one key,
# while holders and bystanders are killed. Source after tap.sh and servers.sh.
#
#   npm_install                       the libraries, into $W/node
#   contest WHAT URL THEIR-COMMAND... cases: which processes were granted the
#                                     key, and when; the command gets SECTION
#                                     FOLDER appended
#
# Ours: four through the library, four shells with `holdfast run`. HF_SECONDS
# says how long (10). HF_VICTIM names a server that is killed halfway.

contest_section=$HF_BUILD/tests/interop/section

npm_install() {
    command -v npm >/dev/null || skip_all "npm is not installed"
    mkdir -p "$W/node"
    cp "$HF_SOURCE"/tests/interop/{package.json,package-lock.json} "$W/node"
    cp "$HF_SOURCE"/tests/interop/*.js "$W/node"
    (cd "$W/node" && npm ci --ignore-scripts --no-audit --no-fund \
        --fetch-retries 1 --fetch-timeout 20000) \
        >"$W/npm.log" 2>&1 || {
        diag "$(tail -n 5 "$W/npm.log")"
        skip_all "npm cannot install the libraries"
    }
}

# On a loaded machine the store may time out when the wait ends: 69 then, not
# earlier. 70: the keeper was killed. 76: the lease of 2 s ended before the
# section of 5 ms, which takes a machine that does not run.
ours_by_command() {
    local code start rest
    while [ ! -e "$folder/stop" ]; do
        start=$(now_ms)
        holdfast run -u "$url" -t 2s -w 5s contended -- \
            "$contest_section" "$folder" ours 5 2>>"$folder/ours.err"
        code=$?
        case $code in
        0 | 75 | 70) ;;
        69) [ $(($(now_ms) - start)) -ge 4500 ] ||
            echo "ours: run gave up early" >>"$folder/trouble" ;;
        76) [ $(($(now_ms) - start)) -ge 1500 ] ||
            echo "ours: run lost it early" >>"$folder/trouble" ;;
        *) echo "ours: run ended with $code" >>"$folder/trouble" ;;
        esac
        rest=0.15
        [ ! -e "$folder/yield" ] || rest=2
        sleep $rest # sleeps: the load, see contender.c
    done
}

contender_start() { # INDEX
    case $1 in
    [0-3]) "$HF_BUILD/tests/interop/contender" "$url" contended \
        "$contest_section" "$folder" & ;;
    [4-7]) ours_by_command & ;;
    *) "${theirs[@]}" "$contest_section" "$folder" & ;;
    esac 2>>"$folder/stderr" >>"$folder/stdout"
    contenders[$1]=$!
}

is_of_contest() { # PID
    env -u HF_CONTEST grep -qzxF "HF_CONTEST=$folder" "/proc/$1/environ" \
        2>/dev/null
}

# Kill the process that holds the lock: the parent of the one in the section.
# That one may have ended since, and its number may be another process's.
contest_kill_holder() {
    local inside
    inside=$(cat "$folder/witness" 2>/dev/null)
    [ -n "$inside" ] || return 1
    holder=$(sed -nE 's/^PPid:\s*//p' "/proc/$inside/status" 2>/dev/null)
    [ -n "$holder" ] && [ "$holder" != $$ ] && is_of_contest "$holder" &&
        kill -KILL "$holder" 2>/dev/null
}

contest_revive() {
    local i
    for i in "${!contenders[@]}"; do
        if is_gone "${contenders[$i]}"; then
            wait "${contenders[$i]}" 2>/dev/null
            contender_start "$i"
        fi
    done
}

# All processes of this contest, also those that were reparented.
contest_members() {
    env -u HF_CONTEST grep -lzxF "HF_CONTEST=$folder" /proc/[0-9]*/environ \
        2>/dev/null
}

contest_is_over() {
    local i
    for i in "${!contenders[@]}"; do
        if is_gone "${contenders[$i]}"; then
            wait "${contenders[$i]}" 2>/dev/null
            unset "contenders[$i]"
        fi
    done
    [ ${#contenders[@]} = 0 ] && [ -z "$(contest_members)" ]
}

contest_end() { # FOLDER
    local folder=$1 member
    touch "$folder/stop"
    for member in $(contest_members); do
        member=${member#/proc/}
        kill -KILL "${member%/environ}" 2>/dev/null
    done
}

granted() { # SIDE: more than 10 times
    [ "$(wc -l <"$folder/grants.$1")" -gt 10 ]
} 2>/dev/null

enough() {
    granted ours && granted theirs
}

contest_run() { # SECONDS
    local end=$(($(now_ms) + $1 * 1000)) half i victim
    half=$((end - $1 * 500))
    for ((i = 0; i < 16; i++)); do
        contender_start $i
    done
    # A loaded machine needs longer until each side has held the key often
    # enough: there one of ours always waits, and passes the key on, so that it is
    # never free for the others. Then ours pause longer.
    until [ "$(now_ms)" -ge $end ] &&
        { enough || [ "$(now_ms)" -ge $((end + $1 * 5000)) ]; }; do
        [ "$(now_ms)" -lt $end ] || granted theirs || touch "$folder/yield"
        sleep 0.5 # sleeps: how often a holder is killed
        if ((RANDOM % 2)); then
            wait_until 1 contest_kill_holder && kills=$((kills + 1))
        else
            victim=${contenders[$((RANDOM % 16))]}
            kill -KILL "$victim" 2>/dev/null && kills=$((kills + 1))
        fi
        contest_revive
        if [ -n "${HF_VICTIM:-}" ] && [ "$(now_ms)" -gt $half ]; then
            server_kill "$HF_VICTIM"
            HF_VICTIM=''
        fi
    done
    touch "$folder/stop"
}

contest() {
    local what=$1 url=$2 theirs=("${@:3}") folder kills=0 holder ours others
    local -A contenders=()
    folder=$(mktemp -d "$W/c.XXXXXX")
    at_exit contest_end "$folder"
    export HF_CONTEST=$folder
    contest_run "${HF_SECONDS:-10}" 2>>"$folder/shell" # bash reports kills
    ok "$what: all end when told to" wait_until 30 contest_is_over 2>>"$folder/shell"
    unset HF_CONTEST
    touch "$folder/trouble" "$folder/overlaps" "$folder"/grants.{ours,theirs}
    ours=$(wc -l <"$folder/grants.ours")
    others=$(wc -l <"$folder/grants.theirs")
    diag "$what: $ours grants of ours, $others of theirs, $kills killed"
    is "$(cat "$folder/overlaps")" "" "$what: never two inside"
    ok "$what: ours are let in" test "$ours" -gt 10
    ok "$what: theirs are let in" test "$others" -gt 10
    is "$(sort "$folder/trouble" | uniq -c | head -n 5)" "" \
        "$what: no lock is taken away, and nothing fails"
    is "$(awk '$2 <= last { print last, $2 } { last = $2 }' \
        "$folder/grants.ours" | head -n 3)" "" "$what: our fences rise"
    if [ -s "$folder/stderr" ]; then
        diag "$(sort "$folder/stderr" | uniq -c | head -n 5)"
    fi
}

# Delete all data, and with them the marker that says which store the server
# belongs to.
servers_empty() {
    local name
    SOCKETS=''
    for name in s1 s2 s3; do
        server_cli $name flushall >/dev/null
        SOCKETS+="${SOCKETS:+,}${SERVER_SOCK[$name]}"
    done
}

stranger() { # WHAT: run the other library's command and print its output.
    local answer
    echo "$1" >&"${STRANGER[1]}"
    read -r -t 10 answer <&"${STRANGER[0]}"
    echo "$answer"
}

# Neither side can acquire or release a lock of the other. The name is "strange".
contest_strangers() { # URL STRANGER-COMMAND...
    local url=$1 key name owner
    shift
    coproc STRANGER { "$@" 2>"$W/stranger.err"; }
    is "$(stranger acquire)" acquired "they hold"
    capture holdfast acquire -u "$url" --try strange
    is "$code" 75 "we are refused"
    capture holdfast ls -u "$url" strange
    like "$out" strange "ls shows theirs"
    is "$(stranger release)" released "they release"

    capture holdfast acquire -u "$url" -t 20s strange
    is "$code" 0 "we hold"
    is "$(stranger acquire)" refused "they are refused"
    ok "we release" holdfast release -u "$url" strange --owner "${out%% *}"

    # Now each side finds the other's lock under the name that it held.
    is "$(stranger acquire)" acquired "they hold again"
    key=$(server_cli s1 keys '*strange')
    for name in s1 s2 s3; do
        server_cli $name del "$key" >/dev/null
    done
    capture holdfast acquire -u "$url" -t 20s strange
    is "$code" 0 "their key is deleted by hand: we hold"
    owner=${out%% *}
    stranger release >/dev/null
    # A majority suffices: a client that acquires the lock and exits does not
    # wait for the third node.
    ok "their late release leaves ours" test "$(for name in s1 s2 s3; do
        server_cli $name get "$key"
    done | grep -cxF "${owner%@*}")" -ge 2
    for name in s1 s2 s3; do
        server_cli $name del "$key" >/dev/null
    done
    is "$(stranger acquire)" acquired "ours is deleted by hand: they hold"
    capture holdfast release -u "$url" strange --owner "$owner"
    is "$code" 76 "our late release says that it was lost"
    is "$(stranger release)" released "and left theirs"
}
