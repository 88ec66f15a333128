-- SPDX-License-Identifier: Apache-2.0
-- ACQUIRE: take a name if it is free.
--
-- KEYS 1 the lock, 2 its fence, 3 hf:node
-- ARGV 1 owner, 2 ttl ms, 3 hint (0: none), 4 marker, 5 ms to keep the fence
-- -> c                                yours, at c
--    {0, c, left ms, owner}           somebody else's
--    {0, c, left ms, type, 0, 1}      a key that is no string
--    -1                               the marker has changed
--
-- I1: c is only ever replaced by max(c + 1, ..).
-- I2: an owner is installed only where SET NX found none, at a new c; an
--     owner that asks again keeps its c.
-- The fence is one string, 16 digits and the owner: c and `last` in one read
-- and one write. It may expire, since the clock floor then stands above it.
-- All that can fail comes before the first write.
if redis.call('HGET', KEYS[3], 'v') ~= ARGV[4] then
    return -1
end
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local fence = redis.call('GET', KEYS[2])
local c = 0
if fence then
    c = assert(tonumber(string.sub(fence, 1, 16)))
end
local hint = tonumber(ARGV[3])
if hint > math.max(c, us) + 4294967296 then
    return redis.error_reply('HFBOUND hint beyond what this name can have')
end
local next = math.max(c + 1, hint, us - us % 4194304)
if next > 9007199254740991 then
    return redis.error_reply('HFBOUND fences of this name are used up')
end
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    local keep = ARGV[5]
    if next > us then
        keep = math.ceil((next - us) / 1000) + keep
    end
    redis.call('SET', KEYS[2], string.format('%016.0f ', next) .. ARGV[1],
        'PX', keep)
    return next
end
local owner = redis.pcall('GET', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if type(owner) == 'table' then
    return {0, c, left, redis.call('TYPE', KEYS[1]).ok, 0, 1}
end
if owner == ARGV[1] then
    if left >= 0 and left < tonumber(ARGV[2]) then
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
    end
    return c
end
return {0, c, left, owner}
