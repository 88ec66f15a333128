#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# holdfast guard redis, on a real server: accepted and refused writes.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 240
server_start s --aof always || fail 'a server'

cli() { # ARG...
    server_cli s "$@"
}

load() {
    holdfast guard redis | cli -x SCRIPT LOAD
}

guarded() { # KEY NAME FENCE COMMAND [ARG...]
    cli EVALSHA "$sha" 1 "$@"
}

passes() { # WANT TITLE KEY NAME FENCE COMMAND [ARG...]
    local want=$1 title=$2
    shift 2
    is "$(guarded "$@" 2>&1)" "$want" "$title"
}

refused() { # TITLE REGEX KEY NAME FENCE COMMAND [ARG...]
    local title=$1 regex=$2 before
    shift 2
    before=$(everything)
    like "$(guarded "$@" 2>&1)" "^$regex" "$title: refused"
    is "$(everything)" "$before" "$title: nothing was written"
}

everything() { # of strings and hashes
    cli EVAL "local all = {} for _, k in ipairs(redis.call('KEYS', '*')) do
        all[#all + 1] = k .. '=' .. tostring(redis.call('DUMP', k)) end
        table.sort(all) return redis.sha1hex(table.concat(all, ' '))" 0
}

memory() { # KEY NAME
    cli GET "holdfast-guard:{$1}:$2"
}

sha=$(load)
like "$sha" '^[0-9a-f]{40}$' 'it loads'

# ---- Fences
passes OK 'a first fence' k a 41 SET 1
passes OK 'an equal fence' k a 41 SET 2
passes OK 'a larger one' k a 42 SET 3
refused 'a lower one' \
    "STALEFENCE holdfast: fence 41 of 'a' is stale: 42 was presented" \
    k a 41 SET 4
is "$(cli GET k):$(memory k a)" 3:42 'value and memory'
for fence in 0 -43 '' 042 ' 43' 43x 43.0 4e1 9223372036854775808 \
    10000000000000000000; do
    refused "fence <$fence>" 'ERR holdfast: a fence must be 1 to 9223372036854775807' \
        k a "$fence" SET 4
done
passes OK 'a fence beyond 2^53' k big 9007199254740993 SET 1
refused 'its neighbour below' 'STALEFENCE .* 9007199254740992 .* 9007199254740993 ' \
    k big 9007199254740992 SET 2
refused 'a shorter one' 'STALEFENCE' k big 999999999999999 SET 2
passes OK 'the largest fence' k big 9223372036854775807 SET 5
passes OK 'from 9' k digits 9 SET 1
passes OK 'to 10' k digits 10 SET 1
refused 'and back' "STALEFENCE holdfast: fence 9 of 'digits' is stale: 10 was" \
    k digits 9 SET 2

# ---- Names
long=$(printf '%01028d' 1)
for name in 'two words' "it's" '"quoted"' 'back\slash' '%' 'gpu#3' gpu 'ü' ' a' \
    'a ' A $'a\nb' $'\xff' '{x}' '}' "$long"; do
    passes OK "name <$name>" k "$name" 7 SET 1
    refused "name <$name>, lower" STALEFENCE k "$name" 6 SET 2
done
is "$(memory k 'gpu#3'):$(memory k gpu)" 7:7 'a permit has its own memory'
passes OK 'a permit' k 'gpu#3' 9 SET 1
is "$(memory k 'gpu#3'):$(memory k gpu)" 9:7 'and raises that alone'
refused 'no name' 'ERR holdfast: the name of a lock has 1 to 1028 bytes' \
    k '' 7 SET 1
refused 'a name of 1029 bytes' 'ERR holdfast: the name of a lock' \
    k "${long}1" 7 SET 1
is "$(memory k a)" 42 'none of these touched a'

# ---- Commands
passes 2 HSET h a 42 HSET f 1 g 2
passes $'f\n1\ng\n2' HGETALL h a 42 hgetall
is "$(cli -3 HGETALL h | wc -l)" 2 'a client of RESP3 has a map of HGETALL'
is "$(cli -3 EVALSHA "$sha" 1 h a 42 HGETALL | wc -l)" 4 \
    'by the guard a flat list, as docs/fencing.md says'
passes 5 INCRBY n a 42 IncrBy 5
passes 5 GET n a 42 GET
passes OK 'options of SET' n a 42 SET 6 EX 1000
isnt "$(cli TTL n)" -1 'they count'
refused HSET STALEFENCE h a 41 HSET f 9
refused HGETALL STALEFENCE h a 41 HGETALL
refused INCRBY STALEFENCE n a 41 INCRBY 5
refused GET STALEFENCE n a 41 GET
refused DEL STALEFENCE n a 41 DEL
passes 1 DEL n a 42 DEL
is "$(cli EXISTS n):$(memory n a)" 0:42 'it is deleted, and the memory stays'
refused 'SET of an old holder after DEL' STALEFENCE n a 41 SET 1
for command in '' FLUSHALL EVAL MSET RENAME GETDEL UNLINK COPY holdfast; do
    refused "<$command>" 'ERR holdfast: the command must be SET, HSET, INCRBY,' \
        k a 42 "$command" x
done
refused 'no command' 'ERR holdfast: the command must be' k a 42
refused 'DEL of two keys' 'ERR holdfast: DEL deletes one key' k a 42 DEL h
like "$(cli EVALSHA "$sha" 2 k h a 42 SET 1 2>&1)" '^ERR holdfast: one key at' \
    'two keys'
like "$(cli EVALSHA "$sha" 0 a 42 SET 1 2>&1)" '^ERR holdfast: one key at' \
    'no key'
like "$(guarded h a 43 SET 2>&1)" '^ERR ' 'a command that fails'
is "$(memory h a)" 43 'has presented its fence'

# ---- Slots
server_start c --tcp -- --cluster-enabled yes || fail 'a cluster'
server_cli c CLUSTER ADDSLOTSRANGE 0 16383 >"$W/slots"
is_whole() {
    [[ $(server_cli c CLUSTER INFO) == *cluster_state:ok* ]]
}
ok 'a cluster of one node' wait_until 15 is_whole
csha=$(holdfast guard redis | server_cli c -x SCRIPT LOAD)
for key in plain '{tag}x' 'x{tag}' '{a}{b}' 'a{b' '{}{a' 'x{a}}' "it's" $'\xff'; do
    server_cli c FLUSHALL >"$W/flush"
    got=$(server_cli c EVALSHA "$csha" 1 "$key" lock 5 SET v 2>&1)
    if [ "$key" = '{}{a' ]; then
        like "$got" '^ERR holdfast: no guard for this key' "key <$key>: refused"
        continue
    fi
    is "$got" OK "key <$key> in a cluster"
    guard=$(server_cli c --raw KEYS 'holdfast-guard:*')
    is "$(server_cli c CLUSTER KEYSLOT "$guard")" \
        "$(server_cli c CLUSTER KEYSLOT "$key")" "key <$key>: one slot"
done
for key in '' 'a}b' '{}b' 'holdfast-guard:{k}:a'; do
    refused "key <$key>" 'ERR holdfast: no guard for this key' "$key" a 99 SET 1
done
passes OK 'a key with a tag' 'x{t}' a 50 SET 1
refused 'its neighbour' 'STALEFENCE .* 49 .* 50 ' 'y{t}' a 49 SET 1
passes OK 'a key of another tag has a memory of its own' 'x{u}' a 49 SET 1

# ---- Eviction
for policy in allkeys-lru allkeys-lfu allkeys-random volatile-lru volatile-lfu \
    volatile-random volatile-ttl; do
    cli CONFIG SET maxmemory-policy $policy >"$W/set"
    refused "$policy" "ERR holdfast: this server may evict the largest fence \
\(maxmemory-policy $policy\): set maxmemory-policy noeviction" k a 42 SET 1
done
cli CONFIG SET maxmemory-policy noeviction >"$W/set"
passes OK noeviction k a 42 SET 1

# ---- Two writers
# A is stopped between its read and its write.
passes OK 'A presents its fence' s lock 60 SET 100
passes 100 'and reads' s lock 60 GET
passes OK 'a newer holder writes' s lock 61 SET 150
refused 'A continues' "STALEFENCE .* 60 of 'lock' is stale: 61 " s lock 60 SET 130

# A's script is stopped between its check and its write, where this puts a loop.
holdfast guard redis >"$W/script"
sed 's/^return redis.call(command.*/for _ = 1, 2e8 do end\n&/' "$W/script" >"$W/slow"
ok 'the script has that place' grep -q 2e8 "$W/slow"
cli CONFIG SET lua-time-limit 1 >"$W/set"
slow=$(cli -x SCRIPT LOAD <"$W/slow")
timeout 60 redis-cli -s "${SERVER_SOCK[s]}" EVALSHA "$slow" 1 s lock 62 SET old \
    >"$W/old" 2>&1 &
old=$!
is_busy() {
    [[ $(cli PING 2>&1) == BUSY* ]]
}
ok 'A is stopped after its check' wait_until 15 is_busy
like "$(guarded s lock 63 SET new 2>&1)" '^BUSY' 'a newer fence cannot pass'
like "$(cli SET s other 2>&1)" '^BUSY' 'nor any other command'
wait $old
is "$(<"$W/old"):$(cli GET s)" OK:old 'the older write is whole before'
passes OK 'then the newer passes' s lock 63 SET new
refused 'and the older is refused' STALEFENCE s lock 62 SET old

# Many clients at once, in no order: no write has a lower fence than one before.
cli MONITOR >"$W/monitor" 2>&1 &
monitor=$!
at_exit server_stop s
ok 'the commands are watched' wait_until 15 grep -q OK "$W/monitor"
for client in 1 2 3 4 5 6; do
    for ((i = 0; i < 60; i++)); do
        fence=$((RANDOM % 900 + 100))
        echo "EVALSHA $sha 1 many many $fence SET $fence"
    done | cli >"$W/many.$client" 2>&1 &
    clients[client]=$!
done
wait "${clients[@]}"
passes OK 'the end' many many 1000 SET end
ok 'it was seen' wait_until 15 grep -q '"many" "end"' "$W/monitor"
sed -n 's/.* lua\] "SET" "many" "\([0-9]*\)"$/\1/p' "$W/monitor" >"$W/order"
ok 'writes come in the order of fences' sort -nc "$W/order"
is "$(wc -l <"$W/order")" "$(cat "$W"/many.* | grep -c '^OK')" 'each that passed'
isnt "$(cat "$W"/many.* | grep -c '^STALEFENCE')" 0 'and others did not'
kill $monitor
wait $monitor 2>/dev/null

# ---- MULTI, a restart, rights
printf '%s\n' MULTI "EVALSHA $sha 1 k a 43 SET 10" \
    "EVALSHA $sha 1 k a 42 SET 11" EXEC | cli >"$W/multi" 2>&1
like "$(<"$W/multi")" 'STALEFENCE' 'in MULTI a stale fence is refused'
is "$(cli GET k)" 10 'and the other call counts'
server_kill s
server_restart s || fail 'a restart'
like "$(guarded k a 43 SET 1 2>&1)" NOSCRIPT 'a restart loses the script'
is "$(load)" "$sha" 'it is loaded again'
refused 'a lower fence after the restart' STALEFENCE k a 42 SET 1
cli ACL SETUSER app on '>pw' '~balance:*' '~holdfast-guard:*' +evalsha +info \
    +get +set +incrby >"$W/acl"
as_app() {
    cli --user app --pass pw "$@" 2>&1
}
is "$(as_app EVALSHA "$sha" 1 balance:1 a 5 INCRBY 3)" 3 \
    'a user with the rights of docs/fencing.md'
like "$(as_app EVALSHA "$sha" 1 balance:1 a 4 INCRBY 3)" '^STALEFENCE' \
    'is refused like others'
like "$(as_app EVALSHA "$sha" 1 other a 5 INCRBY 3)" 'permission|NOPERM' \
    'and has no others'

# ---- Reset
for name in a "it's\\a" $'new\nline' $'\xff\x01' '{x}'; do
    guarded 'r{t}' "$name" 80 SET 1 >"$W/set"
    capture holdfast guard redis --reset "$name"
    is "$code" 0 'a reset is printed'
    is "$(cli EVAL "$out" 1 'r{t}')" 1 'it resets the name'
    passes OK 'then a lower fence passes' 'q{t}' "$name" 79 SET 2
done
holdfast guard redis --reset a >"$W/reset" 2>"$W/err"
like "$(<"$W/err")" "^holdfast: guard: after this reset Redis accepts any \
fence of a, a former holder's too: stop all its writers before$" 'with a warning'
is "$(cli EVAL "$(<"$W/reset")" 1 none)" 0 'nothing to reset'
is "$(memory k a)" 43 'other tags stay'
like "$(cli EVAL "$(<"$W/reset")" 0 2>&1)" '^ERR holdfast: one key at a time' \
    'without a key'
capture holdfast guard -q redis --reset a
is "$err" '' 'with -q no warning'

# ---- docs/fencing.md
sed -n '/^## Redis/,/^## /{/^```sh$/,/^```$/{/^```/d;p}}' \
    "$HF_SOURCE/docs/fencing.md" >"$W/page.sh"
mkdir "$W/bin"
cat >"$W/bin/redis-cli" <<EOF
#!/bin/sh
exec $(command -v redis-cli) -s '${SERVER_SOCK[s]}' "\$@"
EOF
chmod +x "$W/bin/redis-cli"
capture env PATH="$W/bin:$PATH" HOLDFAST_URL="local://$W/store" sh "$W/page.sh"
is "$code:$(grep -v "^holdfast: guard: Redis: the script" <<<"$err")" 0: \
    'the page: its commands run'
like "$out" "STALEFENCE holdfast: fence [0-9]+ of 'account-7' is stale: " \
    'the page: A is refused'
is "$(tail -n 1 <<<"$out"):$(cli GET balance:7)" 150:150 \
    'the page: the deposit of B is there'
finish
