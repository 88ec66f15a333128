-- SPDX-License-Identifier: Apache-2.0
-- INSPECT: who has a name? Writes nothing.
--
-- KEYS 1 the lock, 2 its fence
-- -> {1, c, left ms, owner}           left -1: no expiry, -2: nobody's
--    {1, c, left ms, type, 0, 1}      a key that is no string
local owner = redis.pcall('GET', KEYS[1])
local fence = redis.call('GET', KEYS[2])
local c = 0
if fence then
    c = assert(tonumber(string.sub(fence, 1, 16)))
end
local left = redis.call('PTTL', KEYS[1])
if type(owner) == 'table' then
    return {1, c, left, redis.call('TYPE', KEYS[1]).ok, 0, 1}
end
return {1, c, left, owner or ''}
