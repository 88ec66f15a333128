-- SPDX-License-Identifier: Apache-2.0
-- CONFIRM: still mine? Raise its counter to T, refresh its expiry.
--
-- KEYS 1 the lock, 2 its fence, 3 hf:node
-- ARGV 1 owner, 2 ttl ms, 3 T, 4 marker, 5 ms to keep the fence,
--      6 "1": a holder, who may take back what nobody has
-- -> c                                yours, at c
--    {1, c, left ms, owner, floor}    yours, but T is below the floor
--    {0, c, left ms, owner, floor}    not yours; left -2: nobody's; floor 0:
--                                     it was not the floor that forbade it
--    {0, c, left ms, type, 0, 1}      a key that is no string
--    -1                               the marker has changed
--
-- I1: c is only replaced by a T above it.
-- I2: c rises under the owner who stays, or to a value above all that were
--     owned when one is installed; at the same c only `last`, who owned it,
--     comes back. The actual c is answered, never T: a vote is for c alone.
-- A T below the floor is refused, or a server that lost its memory would
-- agree to a value that somebody else's majority has.
if redis.call('HGET', KEYS[3], 'v') ~= ARGV[4] then
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
local T = tonumber(ARGV[3])
if T > math.max(c, us) + 4294967296 or T > 9007199254740991 then
    return redis.error_reply('HFBOUND fence beyond what this name can have')
end
if type(owner) == 'table' then
    return {0, c, redis.call('PTTL', KEYS[1]), redis.call('TYPE', KEYS[1]).ok,
        0, 1}
end
local floor = us - us % 4194304
local can_raise = c < T and T >= floor
local keep = ARGV[5]
if math.max(c, T) > us then
    keep = math.ceil((math.max(c, T) - us) / 1000) + keep
end
if owner == ARGV[1] then
    local left = redis.call('PTTL', KEYS[1])
    if left >= 0 and left < tonumber(ARGV[2]) then
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
    end
    if can_raise then
        redis.call('SET', KEYS[2], string.format('%016.0f ', T) .. owner,
            'PX', keep)
        return T
    end
    redis.call('PEXPIRE', KEYS[2], keep)
    if c < T then
        return {1, c, left, owner, floor}
    end
    return c
end
if owner then
    return {0, c, redis.call('PTTL', KEYS[1]), owner}
end
local is_last = fence and c == T and string.sub(fence, 18) == ARGV[1]
if ARGV[6] == '1' and (is_last or can_raise) then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    redis.call('SET', KEYS[2], string.format('%016.0f ', T) .. ARGV[1],
        'PX', keep)
    return T
end
return {0, c, -2, '', (c < T and T < floor) and floor or 0}
