-- SPDX-License-Identifier: Apache-2.0
-- QUEUE: list the holders and the waiters of a name. Writes nothing.
--
-- KEYS as in queue.lua; 8 the mark
-- ARGV 1 most holders, and most waiters, in the reply
-- -> {1, c, left ms, owner, 0, is a type, 0, 0, terms, sharers, waiters,
--     then for each: owner, left ms, ticket, mode}
--     First the sharers, in order of arrival, with ticket 0; then the waiters,
--     in order. An exclusive holder is in the fields before.
--@include head.lua
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local owner = redis.pcall('GET', KEYS[1])
--@include fence.lua
local keep = 0
--@include queue.lua
--@include ended.lua

local most = tonumber(ARGV[1])
local reply = show_mark(answer(1))
reply[11] = redis.call('ZCARD', KEYS[3])

local function add(who, till, ticket, mode)
    local n = #reply
    reply[n + 1] = who
    reply[n + 2] = till - now
    reply[n + 3] = ticket
    reply[n + 4] = mode
end

if sharers > 0 then
    local page = redis.call('ZRANGEBYSCORE', KEYS[5], '(' .. now, '+inf',
        'WITHSCORES', 'LIMIT', 0, most)
    local all = {}
    for i = 1, #page, 2 do
        all[#all + 1] = {who = page[i], till = tonumber(page[i + 1]),
            v = tonumber(redis.call('HGET', KEYS[6], page[i]))}
    end
    table.sort(all, function(a, b) return a.v < b.v end)
    for _, one in ipairs(all) do
        add(one.who, one.till, 0, 's' .. terms)
    end
end

-- Waiters with an expired place are skipped, so each record must be read.
local n, at = 0, 0
repeat
    local page = redis.call('ZRANGE', KEYS[3], at, at + 99, 'WITHSCORES')
    for i = 1, #page, 2 do
        local record = redis.call('HGET', KEYS[4], page[i]) or ''
        local till, mode = string.match(record, '^(%d+) (%w+) ')
        till = tonumber(till)
        if till and till > now and n < most then
            add(page[i], till, tonumber(page[i + 1]), mode)
            n = n + 1
        end
    end
    at = at + 100
until #page < 200 or n >= most
return reply
