-- SPDX-License-Identifier: Apache-2.0
-- BREAK: take a name from its holder, or from all sharers.
--
-- KEYS as in queue.lua; 7 hf:node
-- ARGV 1 owner: the breaker's, 2 "1": free the name at once, "0": the breaker
--      keeps it until the holder's lease expires, 3 marker, 4 ms to keep the
--      fence, 5 the longest lease in ms, 6 the owner from which the breaker
--      took the name, to return it ('': take the name)
-- -> {1, c, left ms, owner, 0, is a type, 0, 0, terms, sharers}
--                                     done; the former owner and the remaining
--                                     time of its lease; left -2: free.
--                                     c: a lower bound of the next counter
--    {0, c, left ms, owner, 0, is a type}
--                                     ARGV 2 is "0", but another library's lock
--                                     has no expiry, or could not be returned:
--                                     it is no string, empty or too long
--    -1                               the marker has changed
--
-- A name that was released with a reservation ("ended:") is free for a break:
-- its holder does not believe that it holds the lock.
-- While the breaker keeps a name, the counter stays, so that the name can be
-- returned: its holder is then owner and `last` as before. The breaker's
-- RELEASE increments the counter. A name is not returned to sharers, nor with
-- its counter if that was edited: then the counter is written anew at once.
-- No lease of Holdfast is longer than ARGV 5. A longer one was written before
-- the clock was set back, and one without expiry was persisted by hand: both
-- are shortened. A lock of another library may be longer: the breaker's text
-- then ends with LONG, so that the next breaker does not shorten it.
-- A place in the queue is no longer than ARGV 5 either. One that ends later was
-- entered before the clock was set back: a break removes it, since its waiter
-- may be dead and keep the free name from others. A live one enters again.
--
-- I1: c is only replaced by max(c + 1, ..). I2: the breaker acquires nothing,
-- and owns no value. If it takes the name from a group, c increases. If it
-- frees the name, c increases too, even if the name was free here, since its
-- holder may have it at other nodes; the first waiter is granted yet another
-- value.
--@include head.lua
-- Rule: marker-not-compared.
if redis.call('HGET', KEYS[7], 'v') ~= ARGV[3] then
    return -1
end
-- A full server refuses SET as the first write of a script, but no HDEL.
redis.pcall('HDEL', KEYS[7], '')
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local owner = redis.pcall('GET', KEYS[1])
--@include fence.lua
local keep = ARGV[4]
--@include queue.lua

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
    -- Rule: given-up-break-frees.
    if ARGV[6] ~= '' then
        redis.call('SET', KEYS[1], ARGV[6], 'KEEPTTL')
    end
    return reply
end
if ARGV[6] ~= '' then
    return reply
end

local function drop_far_places()
    if redis.call('PTTL', KEYS[3]) <= most then
        return
    end
    redis.call('PEXPIRE', KEYS[3], most)
    redis.call('PEXPIRE', KEYS[4], most)
    local kept = 0
    repeat
        local page = redis.call('ZRANGE', KEYS[3], kept, kept + 99)
        for _, who in ipairs(page) do
            local record = redis.call('HGET', KEYS[4], who) or ''
            local till = tonumber(string.match(record, '^%d+') or '')
            if till and till > now + most then
                forget(who)
            else
                kept = kept + 1
            end
        end
    until #page < 100
end
pcall(drop_far_places)

local is_ended = string.match(text, '^ended:') and
    string.match(string.sub(text, 7), ID)
local is_long = sharers == 0 and
    (not string.match(text, ID) or string.sub(text, -#LONG) == LONG)
if not is_long and (reply[3] > most or reply[3] == -1) then
    reply[3] = most
    redis.call('PEXPIRE', KEYS[1], most)
end
if owner and ARGV[2] == '0' and not is_ended then
    if reply[3] == -1 or text == '' or is_long and #text >= TEXT_MAX then
        reply[1] = 0
        reply[2] = c
        return reply
    end
    redis.call('SET', KEYS[1], is_long and me .. LONG or me, 'KEEPTTL')
    if sharers > 0 or odd then
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
