-- SPDX-License-Identifier: Apache-2.0
-- MARK: merge a mark of --once with the one that the node has.
--
-- KEYS 1 to 6 as in queue.lua; 7 hf:node, 8 the mark
-- ARGV 1 marker of the server, 2 fence (0: only read), 3 ms until its end,
--      4 owner; '': a tombstone, which withdraws the mark of that fence
-- -> {1, fence, left ms, owner}       the mark after the merge; left -2: none;
--                                     owner '': a tombstone
--    -1                               the marker has changed
--
-- A mark is one string, 16 digits (the fence of its run) and the owner. The
-- mark with the greater fence wins. Of equal fences a tombstone wins, else the
-- mark that the node has; its end never moves. So a late or repeated write
-- changes nothing.
if redis.call('HGET', KEYS[7], 'v') ~= ARGV[1] then
    return -1
end
local mark = redis.call('GET', KEYS[8])
local kept = 0
local owner = ''
if mark then
    kept = tonumber(string.match(mark, '^(%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d) '))
    if not kept then
        return redis.error_reply('HFMARK its mark of --once was edited: ' ..
            'delete it to let a job run: key ' .. string.sub(KEYS[8], 1, 200))
    end
    owner = string.sub(mark, 18)
end
local fence = tonumber(ARGV[2])
-- Rules: later-write-wins, tombstone-replaced.
if fence > kept or
    (fence == kept and ARGV[4] == '' and owner ~= '') then
    if ARGV[4] == '' then -- HDEL goes first: SET may fail on a full server
        redis.pcall('HDEL', KEYS[7], '')
    end
    redis.call('SET', KEYS[8], string.format('%016.0f ', fence) .. ARGV[4],
        'PX', ARGV[3])
    kept = fence
    owner = ARGV[4]
end
return {1, kept, redis.call('PTTL', KEYS[8]), owner}
