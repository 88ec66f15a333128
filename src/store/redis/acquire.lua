-- SPDX-License-Identifier: Apache-2.0
-- ACQUIRE: acquire a name if it is free, or wait for it in its queue.
-- YIELD: return a grant first, and wait again.
--
-- KEYS as in queue.lua; 7 hf:node
-- ARGV 1 owner, 2 ttl ms, 3 hint (0: none), 4 marker, 5 ms to keep the fence
--      and, except for a plain try:
--      6 mode, 7 "1": acquire it if it is free, even if clients wait, 8 ms to
--      keep a place in the queue (0: no place), 9 ticket (0: the node's time),
--      10 channel and 11 cookie of pushes, 12 YIELD: the counter of the grant
--      that is returned (absent or 0: none)
-- -> c                                  yours, at c
--    {1, c, left ms, owner, 0, 0, node time us or 0, 1 or 0}
--                                       the same; node time: c is far ahead of
--                                       it; 1: an earlier ticket waits
--    {0, c, left ms, owner, 0, is a type, node time us, 0, terms, sharers}
--                                       another owner's; left -2: free,
--                                       but clients wait
--    {2, c, left ms, owner, 0, is a type, ticket, ahead, terms, sharers}
--                                       the same, and you have a place
--    -1                                 the marker has changed
--
-- I1: c is only replaced by max(c + 1, ..).
-- I2: an owner is installed at a new c, and only if the name is free, or is
--     shared and the owner shares it on the same terms. If an owner that has
--     the name asks again, its c stays; if that was evicted, it gets a new one.
-- The fence is one string, 16 digits and the owner: c and `last` in one read
-- and one write. It may expire, since the clock floor is above it by then.
-- All commands that can fail come before the first write; after a write, no
-- command fails for lack of memory. Lua creates functions anew at every run, so
-- the common cases come before them.
--@include head.lua
-- Rule: marker-not-compared.
if redis.call('HGET', KEYS[7], 'v') ~= ARGV[4] then
    return -1
end
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
--@include fence.lua
if odd then
    return redis.error_reply(odd)
end
local hint = ARGV[3] == '0' and 0 or ARGV[3] + 0
-- Rule: hint-refused.
if hint > 0 and
    (hint > math.max(c, us) + AHEAD_MAX or hint > FENCE_MAX) then
    hint = 0 -- from a server whose clock is far ahead; no order depends on it
end
-- Rules: no-floor, floor-at-creation-only.
local next = math.max(c + 1, hint, us - us % FLOOR_STEP)
if next > FENCE_MAX then
    return redis.error_reply('HFBOUND fences of this name are used up')
end
local keep = ARGV[5]
local mode = ARGV[6] or 'x'
local given = ARGV[12] and tonumber(ARGV[12]) or 0
local place = ARGV[8] and tonumber(ARGV[8]) or 0
local is_usual = mode == 'x' and given == 0
-- Rule: unfair-barge.
local is_simple = is_usual and redis.call('EXISTS', KEYS[3]) == 0
if is_simple and redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    if next > us then
        keep = math.ceil((next - us) / 1000) + keep
    end
    redis.call('SET', KEYS[2], string.format('%08d%08d ', next / HALF,
        next % HALF) .. ARGV[1], 'PX', keep)
    if next > us + AHEAD_MAX then
        return {1, next, tonumber(ARGV[2]), ARGV[1], 0, 0, us}
    end
    return next
end
local owner = redis.pcall('GET', KEYS[1])
if is_simple and owner == ARGV[1] and c > 0 then
    -- Rules: no-refresh-on-retry, shortened-expiry.
    local left = redis.call('PTTL', KEYS[1])
    if left < tonumber(ARGV[2]) then
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
    end
    return c
end
if is_usual and place == 0 and type(owner) == 'string' and
    owner ~= ARGV[1] and string.sub(owner, 1, 7) ~= 'shared:' then
    return {0, c, redis.call('PTTL', KEYS[1]),
        string.sub(owner, 1, TEXT_MAX), 0, 0, us}
end
local me = ARGV[1]
local ttl = tonumber(ARGV[2])
local ticket = tonumber(ARGV[9] or 0)
--@include queue.lua

-- The counter at which `me` has the name; nothing if it does not.
local function mine()
    return owner == me and c or vote(me)
end

local function yours(v)
    local ahead = ahead_of(me, ticket)
    local is_far = v > us + AHEAD_MAX
    if ahead == 0 and not is_far then
        return v
    end
    return {1, v, redis.call('PTTL', KEYS[1]), me, 0, 0, is_far and us or 0,
        ahead}
end

-- Rule: yield-without-counter.
if given > 0 and mine() == given then
    if owner == me then
        redis.call('DEL', KEYS[1])
        owner = false
    else
        part(me)
    end
end

local v = mine()
if v then
    -- Rules: no-refresh-on-retry, shortened-expiry.
    local left = redis.call('PTTL', KEYS[1])
    if owner ~= me then
        stay(me, ttl)
    elseif left < ttl then
        redis.call('PEXPIRE', KEYS[1], ttl)
    end
    if v == 0 then
        write_counter(next, me)
    end
    return yours(v > 0 and v or next)
end

-- Acquire the name for `me` if no client waits, or `me` is the first waiter, or
-- ARGV 7 allows to overtake. Then grant it to the next waiters that may share.
local function take()
    -- Rule: unfair-barge.
    local first = admits(mode) and ARGV[7] ~= '1' and head()
    if not admits(mode) or (first and first.who ~= me) then
        return false
    end
    install(me, mode, ttl, next)
    forget(me)
    serve(nil, 0, 0)
    return true
end

if (given == 0 or place == 0) and take() then
    return yours(next)
end
local stamp = ticket > 0 and ticket or us
local is_new = place > 0 and
    enter(me, mode, place, stamp, ARGV[10], ARGV[11])
serve(me, ttl, hint)
v = mine()
if v then
    return yours(v)
end
if not owner and given > 0 then
    write_counter(c)
end
if place > 0 and is_new then
    return answer(2, stamp, redis.call('ZRANK', KEYS[3], me))
elseif place > 0 then
    head()
    return answer(2, tonumber(redis.call('ZSCORE', KEYS[3], me)),
        redis.call('ZRANK', KEYS[3], me))
end
next = math.max(c + 1, hint, floor)
if next <= FENCE_MAX and take() then
    return yours(next)
end
return answer(0, us)
