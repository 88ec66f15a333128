-- SPDX-License-Identifier: Apache-2.0
-- BREAK: take a name from whoever has it.
--
-- KEYS 1 the lock, 2 its fence, 3 hf:node
-- ARGV 1 owner: the breaker's, 2 "1": free it at once, "0": keep it taken for
--      as long as it was, 3 marker, 4 ms to keep the fence
-- -> {1, c, left ms, owner}           done; who had it, and for how long it
--                                     was still his; left -2: nobody had it
--    {1, c, left ms, type, 0, 1}      done; it was a key that is no string
--    {0, c, -1, owner}                keep, but it has no expiry
--    {0, c, -1, type, 0, 1}
--    -1                               the marker has changed
--
-- I1: c is only replaced by max(c + 1, ..). I2: the breaker is installed at a
-- new c, or nobody is. c moves on even if the name was free here: its holder
-- may have it elsewhere.
if redis.call('HGET', KEYS[3], 'v') ~= ARGV[3] then
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
local left = redis.call('PTTL', KEYS[1])
if owner == ARGV[1] then
    return {1, c, left, owner}
end
local is_foreign = 0
if type(owner) == 'table' then
    owner = redis.call('TYPE', KEYS[1]).ok
    is_foreign = 1
end
if ARGV[2] == '0' and left == -1 then
    return {0, c, left, owner, 0, is_foreign}
end
local next = math.max(c + 1, us - us % 4194304)
if next > 9007199254740991 then
    return redis.error_reply('HFBOUND fences of this name are used up')
end
local keep = ARGV[4]
if next > us then
    keep = math.ceil((next - us) / 1000) + keep
end
local text = string.format('%016.0f', next)
if owner and ARGV[2] == '0' then
    redis.call('SET', KEYS[1], ARGV[1], 'KEEPTTL')
    text = text .. ' ' .. ARGV[1]
elseif owner then
    redis.call('DEL', KEYS[1])
end
redis.call('SET', KEYS[2], text, 'PX', keep)
return {1, next, left, owner or '', 0, is_foreign}
