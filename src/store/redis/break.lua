-- SPDX-License-Identifier: Apache-2.0
-- BREAK: take a name from its holder, or from all who share it.
--
-- KEYS as line.lua says; 7 hf:node
-- ARGV 1 owner: the breaker's, 2 "1": free it at once, "0": keep it taken for
--      as long as it was, 3 marker, 4 ms to keep the fence, 5 the longest lease
--      in ms, 6 what the breaker took it from: give it back ('': take it)
-- -> {1, c, left ms, owner, 0, is a type, 0, 0, terms, sharers}
--                                     done; who had it, and for how long it
--                                     was still its own; left -2: free.
--                                     c: at least what comes next
--    {0, c, -1, owner, 0, is a type}  keep, but it has no expiry
--    -1                               the marker has changed
--
-- What was released and is only kept taken ("ended:") is free: its holder does
-- not believe to hold it.
-- A name that is kept taken keeps its counter, so that it can be given back:
-- its holder is owner and `last` again, as if nothing had been. The breaker's
-- RELEASE moves the counter on. Those who share are not given back.
-- No lease of Holdfast's is longer than ARGV 5. What lasts longer was written
-- by a clock that was set back since, and is cut. A lock of another library may
-- last as long as it says: the breaker's text says so, or the next breaker
-- would cut it.
--
-- I1: c is only replaced by max(c + 1, ..). I2: the breaker acquires nothing
-- and no value is its own; of a group it moves on. If the name is freed, c
-- moves on too, also where it was free: its holder may have it elsewhere; then
-- the first waiter is served, at yet another.
--@include head.lua
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

local LONG = '-foreign'
local ID = '^' .. string.rep('[0-9a-f]', 32) .. ':'
local me = ARGV[1]
local most = tonumber(ARGV[5])
local text = type(owner) == 'string' and owner or ''

local reply = answer(1)
local next = math.max(c + 1, floor)
if next > FENCE_MAX then
    return redis.error_reply('HFBOUND fences of this name are used up')
end
reply[2] = next
if text == me or text == me .. LONG then
    if ARGV[6] ~= '' then
        redis.call('SET', KEYS[1], ARGV[6], 'KEEPTTL')
    end
    return reply
end
if ARGV[6] ~= '' then
    return reply
end
local is_ended = string.match(text, '^ended:') and
    string.match(string.sub(text, 7), ID)
local is_long = sharers == 0 and
    (not string.match(text, ID) or string.sub(text, -#LONG) == LONG)
if not is_long and reply[3] > most then
    reply[3] = most
    redis.call('PEXPIRE', KEYS[1], most)
end
if owner and ARGV[2] == '0' and not is_ended then
    if reply[3] == -1 then
        reply[1] = 0
        reply[2] = c
        return reply
    end
    redis.call('SET', KEYS[1], is_long and me .. LONG or me, 'KEEPTTL')
    if sharers > 0 then
        redis.call('DEL', KEYS[5], KEYS[6])
        write_counter(next, me)
    end
    return reply
end
redis.call('DEL', KEYS[1], KEYS[5], KEYS[6])
owner = false
sharers = 0
write_counter(next)
pcall(serve, nil, 0, 0)
return reply
