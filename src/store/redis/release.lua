-- SPDX-License-Identifier: Apache-2.0
-- RELEASE: free a name that is mine, leave its queue, and grant the name to the
-- first waiter; align the counter of a free name.
--
-- KEYS as in queue.lua; 7 hf:node
-- ARGV 1 owner, 2 T, 3 ms of a reservation, during which the name is held by
--      "ended:" (0: free it; sharers reserve nothing), 4 ms to keep the fence,
--      5 marker
-- -> c                                it was yours, and is no longer
--    {0, c, left ms, owner, 0, is a type, 0, 0, terms, sharers}
--                                     not yours; left -2: free
--    -1                               not yours, and the marker has changed
--
-- I1: c is only replaced by a T above it.
-- I2: only serve() installs an owner. `last` is deleted, else a late CONFIRM
--     would acquire the lock again.
-- A release must never fail. So the marker is compared only before a grant, and
-- before "not yours", which a server that lost its data says of each owner; all
-- else is done. A T out of bounds is ignored rather than refused. If the
-- server's memory is full, DEL, ZREM or HDEL, the first write, still succeeds,
-- and later writes of the script too; only a counter that the node does not
-- have is not aligned then. If a grant to a waiter fails, its next heartbeat
-- repeats it.
--@include head.lua
local owner = redis.pcall('GET', KEYS[1])
--@include fence.lua
local me = ARGV[1]
local T = ARGV[2] == digits and c or ARGV[2] + 0
local keep = ARGV[4]
local is_mine = owner == me
local marker = ARGV[5]
if odd then
    -- Only its holder knows the counter. Without it, nothing is granted.
    T = is_mine and T or 0
    marker = T > 0 and marker or ''
end
local gives = is_mine and ARGV[3] == '0'
local first
if gives then
    -- Rule: queue-order-reversed.
    first = redis.pcall('ZPOPMIN', KEYS[3])
else
    first = redis.pcall('ZRANGE', KEYS[3], 0, 0)
end

-- Fast path: an exclusive holder, and an exclusive first waiter. It does the
-- same as serve(), in a third of the time. If it cannot, the waiter is put back
-- into the queue for serve(). tests/conformance/redis_handover checks that both
-- have the same results.
-- Rule: marker-not-compared.
if gives and first[1] and first[1] ~= me and
    redis.pcall('HGET', KEYS[7], 'v') == marker then
    local time = redis.call('TIME')
    local us = time[1] * 1000000 + time[2]
    local record = redis.pcall('HGET', KEYS[4], first[1])
    local till, ms, channel, cookie = string.match(
        type(record) == 'string' and record or '',
        '^(%d+) x (%d+) (%S*) (%d+)$')
    local aligned = c
    if T > c and T <= math.max(c, us) + AHEAD_MAX then
        aligned = T
    end
    -- Rules: no-floor, floor-at-creation-only.
    local v = math.max(aligned + 1, us - us % FLOOR_STEP)
    -- Rule: dead-waiter-not-skipped.
    if till and tonumber(till) > math.floor(us / 1000) and
        v <= FENCE_MAX then
        local text = string.format('%08d%08d', v / HALF, v % HALF)
        local told = redis.pcall('PUBLISH', channel, cookie .. ' ' .. text)
        if type(told) == 'number' and told > 0 then
            if v > us then
                keep = math.ceil((v - us) / 1000) + keep
            end
            -- The releasing owner may be in the queue itself: it asked again
            -- while a break had taken the name, and the break returned it.
            if redis.call('HDEL', KEYS[4], first[1], me) > 1 then
                redis.call('ZREM', KEYS[3], me)
            end
            redis.call('SET', KEYS[1], first[1], 'PX', ms)
            redis.call('SET', KEYS[2], text .. ' ' .. first[1], 'PX', keep)
            return aligned
        end
    end
end

local function denied(reply)
    if marker ~= '' and redis.pcall('HGET', KEYS[7], 'v') ~= marker then
        return -1
    end
    return reply
end
if is_mine then
    redis.call('DEL', KEYS[1])
    owner = not gives and 'ended:' .. me
end
if is_mine and owner then
    redis.call('SET', KEYS[1], owner, 'PX', ARGV[3])
end
local is_ended = owner and owner == 'ended:' .. me
local is_type = type(owner) == 'table'
local is_last = fence and #fence > 16 and
    (is_mine or string.sub(fence, 18) == me)
if not first[1] and
    (not owner or is_type or string.sub(owner, 1, 7) ~= 'shared:') then
    if is_type then
        return denied({0, c, redis.call('PTTL', KEYS[1]),
            redis.call('TYPE', KEYS[1]).ok, 0, 1})
    end
    if owner and not is_mine then
        return is_ended and c or denied({0, c, redis.call('PTTL', KEYS[1]),
            string.sub(owner, 1, TEXT_MAX)})
    end
    if fence and not is_mine then
        redis.pcall('HDEL', KEYS[7], '')
    end
    if T > c then
        local time = redis.call('TIME')
        local us = time[1] * 1000000 + time[2]
        if T <= math.max(c, us) + AHEAD_MAX and T <= FENCE_MAX then
            if T > us then
                keep = math.ceil((T - us) / 1000) + keep
            end
            redis.call('SET', KEYS[2], string.format('%016.0f', T), 'PX', keep)
            c = T
            is_last = false
        end
    end
    if is_last then
        redis.call('SET', KEYS[2], digits, 'KEEPTTL')
    end
    return is_mine and c or denied({0, c, -2, ''})
end
if gives then
    redis.pcall('ZADD', KEYS[3], first[2], first[1])
    redis.pcall('PEXPIRE', KEYS[3], redis.call('PTTL', KEYS[4]))
end
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
--@include queue.lua

local was_mine = is_mine or is_ended
if vote(me) then
    part(me)
    was_mine = true
end
forget(me)
local is_raised = T > c and (is_mine or not owner) and
    T <= math.max(c, us) + AHEAD_MAX and T <= FENCE_MAX
if is_raised then
    c = T
end
local before = c
local reply = was_mine and c or denied(answer(0))
-- Rule: marker-not-compared.
if marker ~= '' and redis.call('HGET', KEYS[7], 'v') == marker then
    pcall(serve, nil, 0, 0)
end
if c > before then
    return reply
end
if is_raised then
    write_counter(c)
elseif is_last and (is_mine or not owner) then
    redis.call('SET', KEYS[2], digits, 'KEEPTTL')
end
return reply
