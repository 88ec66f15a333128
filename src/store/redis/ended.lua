-- SPDX-License-Identifier: Apache-2.0
-- ENDED: report a free name with a mark of --once as "ended:", with the
-- remaining time of the mark.
--
-- Part of scripts that only read (--@include ended.lua), after queue.lua.
-- KEYS 8 the mark
local function show_mark(reply)
    local mark = not owner and redis.call('GET', KEYS[8])
    if mark and #mark > 17 then
        reply[3] = redis.call('PTTL', KEYS[8])
        reply[4] = 'ended:' .. string.sub(mark, 18)
    end
    return reply
end
