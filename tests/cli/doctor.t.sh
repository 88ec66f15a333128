#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# holdfast doctor: refusals and declarations of --init, effects of --quarantine,
# and that each missing right is named.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 240

pty=$HF_BUILD/tests/lib/pty

# ---- --init: two of three restarted empty, under a holder -------------------

servers_start 3
three="$URLS?max_ttl=10s&connect_timeout=5s"
capture holdfast doctor --init -u "$three"
is "$code" 0 'new servers: declared'
is "$(grep -c 'declared' <<<"$out")" 3 'one line for each node'
like "$out" "${SERVER_SOCK[s2]}: declared" 'which names the node'
capture holdfast doctor --init -u "$three"
is "$code" 0 'again: no error'
is "$(grep -c 'nothing to declare' <<<"$out")" 3 'and nothing to declare'
capture holdfast doctor --init --json -u "$three"
like "$out" '^\{"severity":"ok","node":"[^"]+","text":"[^"]+"\}' 'as JSON too'
capture holdfast doctor --init -q -u "$three"
is "$code:$out" 0: 'quiet'

cat >"$W/job" <<'JOB'
echo $$ >"$1"
exec sleep 60
JOB
holdfast run -t 10s -u "$three" nightly -- sh "$W/job" "$W/pid" 2>"$W/err" &
holder=$!
ok 'a job runs' wait_until 5 test -s "$W/pid"
server_kill s1
server_kill s2
server_restart s1
server_restart s2
capture holdfast doctor --init -u "$three" </dev/null
is "$code" 75 'two of three restarted empty, a live holder: refused'
like "$out" "${SERVER_SOCK[s3]}: .*\"nightly\"" 'it names the node and the lock'
unlike "$out" ': declared' 'and declares no node'
is "$(wc -l <<<"$err")" 1 'with one line on stderr'
like "$err" '^holdfast: doctor: nothing was declared' 'which says so'
capture holdfast run -n -t 5s -u "$three" nightly -- echo stolen
is "$code:$out" 69: 'no client is granted the lock beside its holder'
ok 'the holder runs on' kill -0 "$(cat "$W/pid")"

# Only "yes" from a terminal counts.
cat >"$W/no" <<'NO'
expect Type yes:
send y\n
expect nothing was declared
expect ended 75
NO
ok 'on a terminal: y is no' timeout 30 "$pty" sh -c \
    'holdfast doctor --init -u "$0"; echo ended $?' "$three" <"$W/no"
server_kill s1
capture holdfast doctor --init -u "$three" </dev/null
is "$code" 75 'a node that is away too: refused for the holder'
like "$out" "${SERVER_SOCK[s1]}: cannot be looked at" 'both are listed'
kill "$holder" 2>/dev/null
wait "$holder"
capture holdfast doctor --init -u "$three" </dev/null
is "$code" 69 'no holder left, but a node is away: refused'
unlike "$out" ': declared' 'since it might show one'
capture holdfast doctor --init --force -u "$three" </dev/null
is "$code" 69 '--force: reachable servers are declared'
like "$out" "${SERVER_SOCK[s2]}: declared" 'the node that restarted'
like "$out" "${SERVER_SOCK[s3]}: counts already" 'not the one that did not'
like "$err" "${SERVER_SOCK[s1]}" 'and the one that is away is named'
capture holdfast run -n -t 5s -u "$three" nightly -- echo ran
is "$code:$out" 0:ran 'a majority votes'
server_stop s2
server_stop s3

# ---- --init: all that is a holder -------------------------------------------

server_start one
one="${SERVER_URL[one]}?max_ttl=10s&connect_timeout=5s"
refused() { # CODE LIKE TITLE
    capture holdfast doctor --init -u "$one" </dev/null
    is "$code" "$1" "$3: refused, $1"
    like "$out" "$2" "$3: listed"
    unlike "$out" ': declared' "$3: nothing is declared"
}
server_cli one set lock:foreign another px 60000 >"$W/log"
refused 75 '1 lock is held \("foreign"\)' 'a key of another library'
server_cli one del lock:foreign >"$W/log"
server_cli one hset lock:hash field 1 >"$W/log"
refused 75 '1 lock is held \("hash"\)' 'a key of another type'
server_cli one del lock:hash >"$W/log"
server_cli one set 'lock:job' "ended:$(printf '0%.0s' {1..32}):h:1:2" >"$W/log"
capture holdfast doctor --init -u "$one"
is "$code" 0 'a name kept taken after its command: no holder'
server_cli one flushall >"$W/log"
holdfast doctor --init -q -u "$one"
holdfast acquire -s -t 10s -u "$one" shared >"$W/log"
server_cli one del hf:node >"$W/log"
refused 75 '1 lock is held \("shared"\)' 'a reader'
server_cli one flushall >"$W/log"
holdfast doctor --init -q -u "$one"
holdfast acquire -t 10s -u "$one&prefix=team:" theirs >"$W/log"
server_cli one del hf:node >"$W/log"
refused 75 '1 lock is held \("team:theirs"\)' 'a holder with another prefix'
server_cli one flushall >"$W/log"
server_cli one zadd 'hf:{lock:w}:queue' 1 owner >"$W/log"
refused 75 '1 name has waiters \("w"\)' 'a waiter'
server_cli one flushall >"$W/log"
holdfast doctor --init -q -u "$one"
capture holdfast doctor --init -u "${SERVER_URL[one]}?max_ttl=20s" </dev/null
is "$code" 78 'a marker of another shape: refused, 78'
like "$out" 'max_ttl=10s, this client says 20s' 'and listed'
like "$(server_cli one hget hf:node max_ttl_ms)" '^10000$' 'the marker stands'
capture holdfast run -n -t 5s -u "$one" x -- echo ran
is "$code:$out" 0:ran 'and the fleet goes on'
cat >"$W/yes" <<'YES'
expect Type yes:
send yes\n
expect : declared
expect ended 0
YES
ok 'a typed yes declares it' timeout 30 "$pty" sh -c \
    'holdfast doctor --init -u "$0"; echo ended $?' \
    "${SERVER_URL[one]}?max_ttl=20s" <"$W/yes"
like "$(server_cli one hget hf:node max_ttl_ms)" '^20000$' 'with its shape'
capture holdfast run -n -t 5s -u "$one" x -- true
is "$code" 78 'clients of the other shape are refused, 78'

# 100,000 locks: the first are named, and the server is not blocked.
server_cli one flushall >"$W/log"
server_cli one eval "for i = 1, 100000 do
    redis.call('SET', 'lock:' .. i, 'x', 'PX', 600000)
    redis.call('SET', 'hf:{lock:' .. i .. '}:fence', '1', 'PX', 600000)
end" 0 >"$W/log"
start=$(now_ms)
refused 75 '1[0-9]{3} or more locks are held \(("[0-9]+", ){5}\.\.\.\)' '100,000 locks'
ok 'in bounded time' test $(($(now_ms) - start)) -le 20000
server_cli one eval "for i = 1, 100000 do redis.call('DEL', 'lock:' .. i) end" 0 \
    >"$W/log"
server_cli one config resetstat >"$W/log"
start=$(now_ms)
capture holdfast doctor --init -u "$one" </dev/null
is "$code" 0 '100,000 idle names: declared'
ok 'in bounded time too' test $(($(now_ms) - start)) -le 40000
steps=$(server_cli one info commandstats |
    sed -nE 's/^cmdstat_scan:calls=([0-9]+),.*/\1/p')
ok "no step reads more than 1,000 keys ($steps steps)" test "$steps" -ge 100
server_stop one

# ---- --quarantine -----------------------------------------------------------

servers_start 3
three="$URLS?max_ttl=10s&connect_timeout=5s"
holdfast doctor --init -q -u "$three"
holdfast run -n -t 5s -u "$three" used -- true
capture holdfast doctor --quarantine -u "$three"
is "$code" 64 'several servers and no address: usage'
like "$err" "${SERVER_SOCK[s1]}.*all: then no client" 'which lists them'
capture holdfast doctor --quarantine absent -u "$three"
like "$code:$err" '^64:.*no server absent' 'an address of no server'
capture holdfast doctor "${SERVER_SOCK[s1]}" -u "$three"
is "$code" 64 'an address without --quarantine'
capture holdfast doctor --quarantine "${SERVER_SOCK[s1]}" -u "$three&quarantine=off"
is "$code" 78 'with quarantine=off it would count: refused'

# The counter of a server with a clock that was two hours ahead, with the queue and
# the lease from that clock.
fence='hf:{lock:used}:fence'
far=$(printf '%016d' $((${EPOCHREALTIME/[.,]/} + 7200000000)))
server_cli s3 set "$fence" "$far" px 9000000 >"$W/log"
owner=$(printf '0%.0s' {1..32}):h:1:2
server_cli s3 set lock:used "$owner" px 7200000 >"$W/log"
server_cli s3 zadd 'hf:{lock:used}:queue' "$far" dead >"$W/log"
server_cli s3 set lock:foreign other px 7200000 >"$W/log"
value=$(server_cli s3 hget hf:node v)
capture holdfast doctor --quarantine "${SERVER_SOCK[s3]}" -u "$three"
is "$code" 0 'one of three is quarantined'
like "$out" "${SERVER_SOCK[s3]}: declared to have lost data.*10 s" 'and says so'
like "$out" "${SERVER_SOCK[s3]}: 1 counters were beyond" 'one counter is set back'
isnt "$(server_cli s3 hget hf:node v)" "$value" 'it has another marker'
unlike "$(server_cli s3 hget hf:node whole)" 1 'which does not say whole'
now=$((${EPOCHREALTIME/[.,]/} + 4294967296))
got=$(server_cli s3 get "$fence")
ok 'the counter is at the bound, not below' \
    test $((10#$got)) -le "$now" -a $((10#$got)) -ge $((now - 60000000))
is "$(server_cli s3 exists lock:used 'hf:{lock:used}:queue')" 0 \
    'lease and queue of the wrong clock are gone'
is "$(server_cli s3 exists lock:foreign)" 1 'a foreign key is left alone'
is "$(server_cli s1 hget hf:node whole)" 1 'the others count as before'
capture holdfast run -n -t 5s -u "$three" used -- echo ran
is "$code:$out" 0:ran 'a majority goes on'
server_kill s1
capture holdfast run -n -t 5s -u "$three" used -- echo ran
is "$code:$out" 69: 'but the quarantined server has no vote'
capture holdfast run -w 60 -t 5s -u "$three" used -- echo ran
is "$code:$out" 0:ran 'until it was watched: then the name has its vote again'

# A fence beyond the bound may have been granted if a majority has such a
# counter.
server_cli s2 set "$fence" "$far" px 9000000 >"$W/log"
capture holdfast doctor --quarantine "${SERVER_SOCK[s3]}" -u "$three"
like "$code:$out" '^0:.*its counters are kept' \
    'no majority shows that no fence is beyond: counters are kept'
holdfast doctor --init --force -q -u "$three" 2>"$W/log"

# With a client that holds and renews: its script is refused, and it continues
# with the other servers.
server_restart s1
server_cli s2 del "$fence" >"$W/log"
holdfast doctor --init --force -q -u "$three"
rm -f "$W/pid"
holdfast run -t 3s -u "$three" held -- sh "$W/job" "$W/pid" 2>"$W/err" &
holder=$!
ok 'a job runs' wait_until 5 test -s "$W/pid"
capture holdfast doctor --quarantine "${SERVER_SOCK[s1]}" -u "$three"
is "$code" 0 'a server is quarantined under a holder'
knows() { [ "$(server_cli s1 pttl lock:held)" -gt 2000 ]; }
server_cli s1 del lock:held >"$W/log"
ok 'the holder repairs its key there' wait_until 10 knows
capture holdfast run -n -t 5s -u "$three" held -- echo stolen
is "$code:$out" 75: 'and no client is granted the lock'
kill "$holder"
wait "$holder"
# The effect of a restart on --once, if one server has the only mark.
line='a restart that loses data may cost a second run of what --once'
server_start lone
servers_declare "${SERVER_URL[lone]}"
capture holdfast doctor -u "${SERVER_URL[lone]}"
like "$out" "$line" 'one server without durable writes: --once is named'
server_cli lone config set appendfsync always >"$W/log"
server_cli lone config set appendonly yes >"$W/log"
capture holdfast doctor -u "${SERVER_URL[lone]}"
like "$out" 'a restart loses nothing' 'a durable one'
unlike "$out" "$line" 'does not lose it'
capture holdfast doctor -u "$three"
unlike "$out" "$line" 'of three servers two others have the mark'

# "all" is declared at every server that can be reached, also after the first of
# the URL could not be.
server_kill s1
holdfast doctor --init --force -q -u "$three" >"$W/log" 2>&1
capture holdfast run -n -t 5s -u "$three" used -- echo ran
is "$code:$out" 0:ran 'two of three count'
capture holdfast doctor --quarantine all -u "$three"
is "$code" 69 'all, one of them dead: exit 69'
like "$err" "${SERVER_SOCK[s1]}" 'which names it'
like "$out" "${SERVER_SOCK[s2]}: declared to have lost data" 'declared at the second'
like "$out" "${SERVER_SOCK[s3]}: declared to have lost data" 'and at the third'
capture holdfast run -n -t 5s -u "$three" used -- echo ran
is "$code:$out" 69: 'so none of them has a vote'

capture holdfast doctor --quarantine -u "local://$W/store"
is "$code" 78 'the embedded store has none'

finish
