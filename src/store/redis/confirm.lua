-- SPDX-License-Identifier: Apache-2.0
-- CONFIRM: if the name is mine, raise its counter to T and refresh its expiry.
--
-- KEYS as in queue.lua; 7 hf:node
-- ARGV 1 owner, 2 ttl ms, 3 T, 4 marker, 5 ms to keep the fence,
--      6 "1": a holder, which acquires the name again if it is free, 7 mode
-- -> c                                yours, at c; a sharer: at its own counter
--    {1, c, left ms, owner, floor}    yours, but T is below the floor
--    {1, c, left ms, owner, 0, 0, bound}
--                                     yours, but T is above the bound
--    {0, c, left ms, owner, floor, is a type, 0, 0, terms, sharers}
--                                     not yours; left -2: free; floor 0:
--                                     T was not below the floor
--    -1                               the marker has changed
--
-- I1: c is only replaced by a T above it.
-- I2: c rises while its owner stays. If an owner is installed, c rises above
--     all values that were owned; at the same c only its last owner (`last`) is
--     installed again. The reply has the actual c, never T: a vote is for c
--     alone. A sharer has its own counter. It rises to a T within the group's
--     range, from the c at which the group began up to c; or c rises with it.
-- A T below the floor is refused, or a server that lost its data would
-- agree to a value that another owner's majority has. The same holds for
-- sharers, even when T lies within the group's range: in the model an older
-- copy of a node, with an older lease in it, agreed to a writer's value.
-- A T above the bound is refused, or one wrong client, or one wrong clock,
-- could use up the name's fences. Then no counter has changed, and this request
-- will never change one.
-- A lock without expiry (PERSIST, by hand; left is -1) gets one from its own
-- owner, here and in ACQUIRE.
-- CONFIRM grants nothing to waiters: the holder comes before them.
--@include head.lua
-- Rule: marker-not-compared.
if redis.call('HGET', KEYS[7], 'v') ~= ARGV[4] then
    return -1
end
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local owner = redis.pcall('GET', KEYS[1])
--@include fence.lua
if odd then
    return redis.error_reply(odd)
end
local T = ARGV[3] + 0
-- Rule: bound-is-unknown.
local most = math.min(math.max(c, us) + AHEAD_MAX, FENCE_MAX)
if type(owner) == 'table' then
    return {0, c, redis.call('PTTL', KEYS[1]), redis.call('TYPE', KEYS[1]).ok,
        0, 1}
end
local keep = ARGV[5]
local top = T <= most and math.max(c, T) or c
-- Rule: raise-below-floor.
local can_raise = c < T and T >= us - us % FLOOR_STEP and T <= most
if owner == ARGV[1] then
    if top > us then
        keep = math.ceil((top - us) / 1000) + keep
    end
    -- Rule: shortened-expiry.
    local left = redis.call('PTTL', KEYS[1])
    if left < tonumber(ARGV[2]) then
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
    end
    if can_raise then
        redis.call('SET', KEYS[2], string.format('%016.0f ', T) .. owner,
            'PX', keep)
        return T
    end
    redis.call('PEXPIRE', KEYS[2], keep)
    if T > most then
        return {1, c, left, owner, 0, 0, most}
    end
    if c < T then
        return {1, c, left, owner, us - us % FLOOR_STEP}
    end
    -- Rule: naive-raise.
    return c
end
if owner and string.sub(owner, 1, 7) ~= 'shared:' then
    return {0, c, redis.call('PTTL', KEYS[1]), string.sub(owner, 1, TEXT_MAX)}
end
local mode = ARGV[7] or 'x'
local me = ARGV[1]
--@include queue.lua

local v = vote(me)
if v then
    if top > us then
        keep = math.ceil((top - us) / 1000) + keep
    end
    redis.call('PEXPIRE', KEYS[2], keep)
    stay(me, tonumber(ARGV[2]))
    -- Rule: reader-raise-leaves-c.
    if can_raise then
        redis.call('SET', KEYS[2], string.format('%016.0f ', T) .. owner,
            'PX', keep)
        c = T
    end
    -- Rule: raise-below-floor.
    if v < T and T >= floor and T <= most then
        redis.call('HSET', KEYS[6], me, string.format('%.0f', T))
        return T
    end
    if T > most then
        return {1, v, redis.call('PTTL', KEYS[1]), owner, 0, 0, most}
    end
    if v < T then
        return {1, v, redis.call('PTTL', KEYS[1]), owner, floor}
    end
    return v
end
-- Rule: takeback-without-last.
local is_last = fence and c == T and string.sub(fence, 18) == me
-- Rule: raise-takes-free.
if ARGV[6] == '1' and admits(mode) and (is_last or can_raise) then
    install(me, mode, tonumber(ARGV[2]), T)
    forget(me)
    return T
end
local refusal = answer(0)
if admits(mode) and c < T and T < floor then
    refusal[5] = floor
end
return refusal
