-- SPDX-License-Identifier: Apache-2.0
-- RELEASE: free a name that is mine; align the counter of a free one.
--
-- KEYS 1 the lock, 2 its fence
-- ARGV 1 owner, 2 T, 3 ms to keep the name taken and marked ended (0: free
--      it), 4 ms to keep the fence
-- -> c                                it was yours, and is free or ended now
--    {0, c, left ms, owner}           not yours; left -2: nobody's
--    {0, c, left ms, type, 0, 1}      a key that is no string
--
-- I1: c is only replaced by a T above it.
-- I2: no owner is installed. `last` is forgotten, else a CONFIRM that comes
--     late would bring the lock back.
-- It grants nothing, so it needs no marker. A T out of bounds is ignored
-- rather than refused: whoever gives back must not be kept from it. Nor by a
-- full memory: DEL comes first, and a script that has written may go on.
local owner = redis.pcall('GET', KEYS[1])
local fence = redis.call('GET', KEYS[2])
local c = 0
if fence then
    c = assert(tonumber(string.sub(fence, 1, 16)))
end
if type(owner) == 'table' then
    return {0, c, redis.call('PTTL', KEYS[1]), redis.call('TYPE', KEYS[1]).ok,
        0, 1}
end
local is_mine = owner == ARGV[1]
if owner and not is_mine then
    if owner == 'ended:' .. ARGV[1] then
        return c
    end
    return {0, c, redis.call('PTTL', KEYS[1]), owner}
end
if is_mine and ARGV[3] == '0' then
    redis.call('DEL', KEYS[1])
elseif is_mine then
    redis.call('SET', KEYS[1], 'ended:' .. owner, 'PX', ARGV[3])
end
local T = tonumber(ARGV[2])
local is_last = fence and #fence > 16 and
    (is_mine or string.sub(fence, 18) == ARGV[1])
if T > c then
    local time = redis.call('TIME')
    local us = time[1] * 1000000 + time[2]
    if T <= math.max(c, us) + 4294967296 and T <= 9007199254740991 then
        local keep = ARGV[4]
        if T > us then
            keep = math.ceil((T - us) / 1000) + keep
        end
        redis.call('SET', KEYS[2], string.format('%016.0f', T), 'PX', keep)
        c = T
        is_last = false
    end
end
if is_last then
    redis.call('SET', KEYS[2], string.sub(fence, 1, 16), 'KEEPTTL')
end
if is_mine then
    return c
end
return {0, c, -2, ''}
