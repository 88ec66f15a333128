-- SPDX-License-Identifier: Apache-2.0
-- QUEUE: the holders of a name, its waiters, and the grant to the next one.
--
-- Part of other scripts (--@include queue.lua), after head.lua. They must set
-- these locals before:
--   us     the node's time in microseconds
--   owner  the lock's value; false: free; a table: a key of another type
--   c      the name's counter
--   keep   ms to keep the fence
--
-- KEYS 1 the lock       the owner, or the text of a group that shares it
--      2 its fence      16 digits: c, and the owner of that c (`last`)
--      3 the queue      sorted set: owner, ticket (us); ties by owner
--      4 the waiters    hash: owner -> end ms, mode, lease ms, channel, cookie
--      5 the holders    sorted set: sharer, end of its lease (ms)
--      6 their votes    hash: sharer -> its counter; '' -> the group's text
--      7 hf:node
--
-- The mode is 'x', exclusive, or 's' and the terms: shared with owners of the
-- same terms (0: readers, N: a semaphore of N permits). The value of a shared
-- lock is "shared:<terms>-<c at which the group began>", which is unique. If
-- the lock is absent or has another value, there are no sharers, and keys 5 and
-- 6 are leftovers. Keys 1, 5 and 6 expire when the last sharer's lease ends,
-- keys 3 and 4 when the last waiter's place does.
-- A sharer, or a place, is live before the ms in which its lease ends, and not
-- in it: PEXPIREAT of the present ms deletes at once, and part() would end a
-- group that it counts as shared, without a grant to the first waiter.
--
-- I1: every grant, a sharer's too, increases c. I2: the new value belongs to
-- that owner, or to the group, alone.
local now = math.floor(us / 1000)
-- Rules: no-floor, floor-at-creation-only.
local floor = us - us % FLOOR_STEP
local sharers = 0
local terms = -1
if type(owner) == 'string' and string.sub(owner, 1, 7) == 'shared:' and
    redis.call('HGET', KEYS[6], '') == owner then
    sharers = redis.call('ZCOUNT', KEYS[5], '(' .. now, '+inf')
    if sharers > 0 then
        terms = tonumber(string.match(owner, '^shared:(%d+)'))
    else
        owner = false
    end
end

-- Set the counter to v, owned by `last`. The key lasts `keep`; if v is ahead of
-- the clock, `keep` from when the clock reaches v.
local function write_counter(v, last)
    local ms = keep
    if v > us then
        ms = math.ceil((v - us) / 1000) + keep
    end
    local text = string.format('%016.0f', v)
    redis.call('SET', KEYS[2], last and text .. ' ' .. last or text, 'PX', ms)
    c = v
end

-- ---- Holders -------------------------------------------------------------

-- Whether an owner of this mode may hold the name beside the present holders.
local function admits(mode)
    return not owner or (sharers > 0 and mode == 's' .. terms)
end

-- The counter of the sharer `who`; nothing if it does not share the name.
local function vote(who)
    local till = sharers > 0 and redis.call('ZSCORE', KEYS[5], who)
    return till and tonumber(till) > now and
        tonumber(redis.call('HGET', KEYS[6], who))
end

-- Let the keys of a shared lock expire with the lease that ends last.
local function bound()
    local last = redis.call('ZREVRANGE', KEYS[5], 0, 0, 'WITHSCORES')
    redis.call('PEXPIREAT', KEYS[1], last[2])
    redis.call('PEXPIREAT', KEYS[5], last[2])
    redis.call('PEXPIREAT', KEYS[6], last[2])
end

-- Extend the lease of the sharer `who`. ZREM needs no memory and comes first:
-- after a write, ZADD does not fail for lack of memory, so no owner loses its
-- lock because the server is full.
local function stay(who, ms)
    local till = tonumber(redis.call('ZSCORE', KEYS[5], who))
    -- Rule: shortened-expiry.
    if till < now + ms then
        redis.call('ZREM', KEYS[5], who)
        redis.call('ZADD', KEYS[5], now + ms, who)
        bound()
    end
end

-- Remove a sharer. The last one frees the name.
local function part(who)
    redis.call('ZREM', KEYS[5], who)
    redis.call('HDEL', KEYS[6], who)
    sharers = sharers - 1
    if sharers > 0 then
        bound()
        return
    end
    redis.call('DEL', KEYS[1], KEYS[5], KEYS[6])
    owner = false
end

-- Add a sharer. The first one begins a group; a later one removes sharers whose
-- leases have ended, 100 at most.
local function join(who, mode, ms, v)
    if sharers == 0 then
        terms = tonumber(string.sub(mode, 2))
        owner = 'shared:' .. terms .. '-' .. string.format('%.0f', v)
        redis.call('SET', KEYS[1], owner, 'PX', ms)
        redis.call('DEL', KEYS[5], KEYS[6])
        redis.call('HSET', KEYS[6], '', owner)
    else
        local over = redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now,
            'LIMIT', 0, 100)
        if #over > 0 then
            redis.call('ZREM', KEYS[5], unpack(over))
            redis.call('HDEL', KEYS[6], unpack(over))
        end
    end
    redis.call('ZADD', KEYS[5], now + ms, who)
    redis.call('HSET', KEYS[6], who, string.format('%.0f', v))
    sharers = sharers + 1
    bound()
end

-- Make `who` an owner at counter v, above c. The caller has checked
-- admits(mode).
local function install(who, mode, ms, v)
    if mode == 'x' then
        redis.call('SET', KEYS[1], who, 'PX', ms)
        owner = who
    else
        join(who, mode, ms, v)
    end
    -- Rule: reader-keeps-counter.
    write_counter(v, owner)
end

-- ---- Waiters -------------------------------------------------------------

-- Remove a waiter from the queue.
local function forget(who)
    redis.call('ZREM', KEYS[3], who)
    redis.call('HDEL', KEYS[4], who)
end

-- The first waiter; nil if there is none. Removes waiters with an expired
-- place.
local function head()
    while true do
        -- Rule: queue-order-reversed.
        local first = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
        if not first[1] then
            return nil
        end
        local record = redis.call('HGET', KEYS[4], first[1]) or ''
        local till, mode, ms, channel, cookie =
            string.match(record, '^(%d+) (%w+) (%d+) (%S*) (%d+)$')
        -- Rule: dead-waiter-not-skipped.
        if till and tonumber(till) > now then
            return {who = first[1], ticket = tonumber(first[2]), mode = mode,
                ms = tonumber(ms), channel = channel, cookie = cookie}
        end
        forget(first[1])
    end
end

-- Enqueue `who`, or renew its place, which keeps its ticket. Returns true if it
-- is a new place.
local function enter(who, mode, ms, ticket, channel, cookie)
    local is_new = redis.call('ZADD', KEYS[3], 'NX',
        string.format('%.0f', ticket), who) == 1
    redis.call('HSET', KEYS[4], who, string.format('%016.0f %s %.0f %s %s',
        now + ms, mode, ms, channel, cookie))
    if redis.call('PTTL', KEYS[3]) < ms then
        redis.call('PEXPIREAT', KEYS[3], now + ms)
        redis.call('PEXPIREAT', KEYS[4], now + ms)
    end
    return is_new
end

-- The order of members with equal scores; Lua's < depends on the locale.
local function is_before(a, b)
    for i = 1, math.min(#a, #b) do
        local x, y = string.byte(a, i), string.byte(b, i)
        if x ~= y then
            return x < y
        end
    end
    return #a < #b
end

-- 1 if there is a waiter with an earlier ticket; else 0.
local function ahead_of(who, ticket)
    local first = ticket > 0 and head()
    if first and (first.ticket < ticket or
        (first.ticket == ticket and is_before(first.who, who))) then
        return 1
    end
    return 0
end

-- Grant the name to the first waiters, as long as it admits them. `me`, the
-- caller of the script, gets it for ms. Other waiters are notified by a push,
-- and get it for the lease of their place, since they will CONFIRM. A waiter
-- without a subscriber is removed. If PUBLISH is not permitted, the first
-- waiter keeps its place, and finds the free name by polling. ZREM is the first
-- write, so no later command fails for lack of memory: every grant that is
-- pushed is made.
local function serve(me, ms, hint)
    while not owner or sharers > 0 do
        local first = head()
        local v = math.max(c + 1, floor)
        if not first or not admits(first.mode) or v > FENCE_MAX then
            return
        end
        local is_me = first.who == me
        local told = 1
        redis.call('ZREM', KEYS[3], first.who)
        if is_me then
            v = math.max(v, hint)
        else
            told = redis.pcall('PUBLISH', first.channel,
                first.cookie .. ' ' .. string.format('%.0f', v))
        end
        if type(told) == 'table' then
            redis.call('ZADD', KEYS[3], string.format('%.0f', first.ticket),
                first.who)
            redis.call('PEXPIRE', KEYS[3], redis.call('PTTL', KEYS[4]))
            return
        end
        redis.call('HDEL', KEYS[4], first.who)
        -- Rule: dead-waiter-not-skipped.
        if told > 0 then
            install(first.who, first.mode, is_me and ms or first.ms, v)
        end
    end
end

-- ---- Reply ---------------------------------------------------------------

-- {verdict, c, left ms, owner, floor, is a type, ticket, ahead, terms, sharers}
-- The owner is cut, here and in the other scripts.
local function answer(verdict, ticket, ahead)
    local text, left, is_type = owner or '', -2, 0
    if owner then
        left = redis.call('PTTL', KEYS[1])
    end
    if type(owner) == 'table' then
        text = redis.call('TYPE', KEYS[1]).ok
        is_type = 1
    end
    text = string.sub(text, 1, TEXT_MAX)
    return {verdict, c, left, text, 0, is_type, ticket or 0, ahead or 0,
        sharers > 0 and terms or 0, sharers}
end
