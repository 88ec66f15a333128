-- SPDX-License-Identifier: Apache-2.0
-- BREAK: take a name from whoever has it, or from all who share it.
--
-- KEYS as line.lua says; 7 hf:node
-- ARGV 1 owner: the breaker's, 2 "1": free it at once, "0": keep it taken for
--      as long as it was, 3 marker, 4 ms to keep the fence
-- -> {1, c, left ms, owner, 0, is a type, 0, 0, terms, sharers}
--                                     done; who had it, and for how long it
--                                     was still his; left -2: nobody had it
--    {0, c, -1, owner, 0, is a type}  keep, but it has no expiry
--    -1                               the marker has changed
--
-- I1: c is only replaced by max(c + 1, ..). I2: the breaker is installed at a
-- new c, or nobody is; then whoever waits is served, at yet another. c moves
-- on even if the name was free here: its holder may have it elsewhere.
if redis.call('HGET', KEYS[7], 'v') ~= ARGV[3] then
    return -1
end
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local owner = redis.pcall('GET', KEYS[1])
local fence = redis.call('GET', KEYS[2])
local c = 0
if fence then
    c = assert(tonumber(string.sub(fence, 1, 16)))
end
local keep = ARGV[4]
--@include line.lua

local reply = answer(1)
if owner == ARGV[1] then
    return reply
end
if ARGV[2] == '0' and reply[3] == -1 then
    reply[1] = 0
    return reply
end
local next = math.max(c + 1, floor)
if next > TOP then
    return redis.error_reply('HFBOUND fences of this name are used up')
end
reply[2] = next
if owner and ARGV[2] == '0' then
    redis.call('SET', KEYS[1], ARGV[1], 'KEEPTTL')
    redis.call('DEL', KEYS[5], KEYS[6])
    write_counter(next, ARGV[1])
    return reply
end
redis.call('DEL', KEYS[1], KEYS[5], KEYS[6])
owner = false
sharers = 0
write_counter(next)
pcall(serve, nil, 0, 0)
return reply
