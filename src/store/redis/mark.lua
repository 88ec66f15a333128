-- SPDX-License-Identifier: Apache-2.0
-- MARK: merge the mark of a name with the one given; --once alone looks at it.
--
-- KEYS 1 to 6 as line.lua says; 7 hf:node, 8 the mark
-- ARGV 1 marker, 2 fence (0: only look), 3 ms until its end, 4 owner; '': a
--      tombstone, the mark of that fence is withdrawn
-- -> {1, fence, left ms, owner}       what is kept now; left -2: nothing;
--                                     owner '': a tombstone
--    -1                               the marker has changed
--
-- A mark is one string, 16 digits (the fence of its run) and the owner. The
-- greater fence is kept. Of one fence a tombstone is kept; else the mark that
-- is here, whose end never moves. So a late or repeated write changes nothing.
if redis.call('HGET', KEYS[7], 'v') ~= ARGV[1] then
    return -1
end
local mark = redis.call('GET', KEYS[8])
local kept = 0
local owner = ''
if mark then
    kept = assert(tonumber(string.sub(mark, 1, 16)))
    owner = string.sub(mark, 18)
end
local fence = tonumber(ARGV[2])
if fence > kept or
    (fence == kept and ARGV[4] == '' and owner ~= '') then
    redis.call('SET', KEYS[8], string.format('%016.0f ', fence) .. ARGV[4],
        'PX', ARGV[3])
    kept = fence
    owner = ARGV[4]
end
return {1, kept, redis.call('PTTL', KEYS[8]), owner}
