-- SPDX-License-Identifier: Apache-2.0
-- AHEAD: count the counters that are further ahead than a node accepts, and set
-- them back at a node that has no vote.
--
-- KEYS 1 hf:node, then ARGV[2] pairs of a counter and its lock (the counter
--      twice: the lock is not touched), then queues to delete
-- ARGV 1 the marker of this node's quarantine ("": only count),
--      2 number of pairs, 3 ms to keep the fence, 4 the longest lease in ms
-- -> {number of counters that are ahead}
--    -1 the marker has changed, or the node votes: nothing was written
--
-- I1 does not hold here: this is a declared data loss. A counter is set to the
-- bound and not below. The caller has checked that a majority of nodes is not
-- beyond the bound, so no completed fence is greater. `last` is deleted, and
-- the new marker has voided all earlier votes.
-- A lease longer than ARGV 4 was written while the clock was ahead.
--@include head.lua
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local bound = us + AHEAD_MAX
local lowers = ARGV[1] ~= ''
if lowers and (redis.call('HGET', KEYS[1], 'v') ~= ARGV[1] or
    redis.call('HGET', KEYS[1], 'whole') == '1') then
    return -1
end
local pairs_end = 2 * ARGV[2]
local ahead = 0
for i = 2, pairs_end, 2 do
    local fence = redis.pcall('GET', KEYS[i])
    local c = type(fence) == 'string' and tonumber(string.sub(fence, 1, 16))
    if c and c > bound then
        ahead = ahead + 1
        if lowers then
            redis.call('SET', KEYS[i], string.format('%016.0f', bound), 'PX',
                math.ceil(AHEAD_MAX / 1000) + ARGV[3])
        end
    end
    local owner = lowers and KEYS[i + 1] ~= KEYS[i] and
        redis.pcall('GET', KEYS[i + 1])
    if type(owner) == 'string' and
        (string.match(owner, '^%x+:') or
            string.sub(owner, 1, 7) == 'shared:') and
        redis.call('PTTL', KEYS[i + 1]) > tonumber(ARGV[4]) then
        redis.call('DEL', KEYS[i + 1])
    end
end
for i = pairs_end + 2, #KEYS do
    redis.call('DEL', KEYS[i])
end
return {ahead}
