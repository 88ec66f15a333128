-- SPDX-License-Identifier: Apache-2.0
-- MARKER: write the marker of this server (core/quarantine.h).
--
-- KEYS 1 hf:node
-- ARGV 1 the value it must have now ("": no marker; "*": any), 2 the new value,
--      3 "1": the server's data is complete, 4 field of the caller's host
--      ("": none), 5 when that host first saw the value, in ms by its own
--      clock, then field and content, alternating
-- -> 1 written, 0 another client wrote it first: read it again
--
-- While the value stays the same, hosts are only added and "whole" is only set.
-- A new value begins without both. Of more than 64 hosts one is removed, and
-- begins its watch anew, so no host's watch is counted too long. Which one is
-- random, so that a stream of new hosts cannot displace a chosen one.
-- The marker has no expiry. The script touches no lock.
local value = redis.call('HGET', KEYS[1], 'v') or ''
-- Rule: entry-not-compared.
if ARGV[1] ~= '*' and value ~= ARGV[1] then
    return 0
end
-- HDEL comes first: a full server refuses HSET as the first write of a script,
-- and without its marker it would not count for its holders.
redis.pcall('HDEL', KEYS[1], '')
-- Rule: entry-survives-restart.
if value ~= ARGV[2] then
    redis.call('DEL', KEYS[1])
end
redis.call('HSET', KEYS[1], 'v', ARGV[2], unpack(ARGV, 6))
local hosts = {}
local is_listed = false
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
    if string.sub(all[i], 1, 3) == 'at:' then
        hosts[#hosts + 1] = all[i]
        is_listed = is_listed or all[i] == ARGV[4]
    end
end
if ARGV[3] == '1' then
    redis.call('HSET', KEYS[1], 'whole', '1')
    if #hosts > 0 then
        redis.call('HDEL', KEYS[1], unpack(hosts))
    end
elseif ARGV[4] ~= '' and not is_listed then
    if #hosts >= 64 then
        local time = redis.call('TIME')
        redis.call('HDEL', KEYS[1], hosts[time[2] % #hosts + 1])
    end
    redis.call('HSET', KEYS[1], ARGV[4], ARGV[5])
end
return 1
