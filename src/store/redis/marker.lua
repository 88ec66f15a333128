-- SPDX-License-Identifier: Apache-2.0
-- MARKER: write what this server is known as (core/quarantine.h).
--
-- KEYS 1 hf:node
-- ARGV 1 the value it must have now ("": there must be none; "*": any),
--      2 the new value, 3 "1": its memory is whole, 4 field of the caller's
--      host ("": none), 5 when that host first saw the value, in ms by its
--      own clock, then field and content, alternating
-- -> 1 written, 0 another client was faster: read it again
--
-- Under one value hosts are only added and "whole" is only set; another value
-- begins with neither. Of more than 64 hosts one is dropped: it begins anew,
-- so none counts as older than it is. Which one is left to chance, so that
-- a stream of new hosts cannot push out a chosen one.
-- It has no expiry, and touches no lock.
local value = redis.call('HGET', KEYS[1], 'v') or ''
if ARGV[1] ~= '*' and value ~= ARGV[1] then
    return 0
end
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
