-- SPDX-License-Identifier: Apache-2.0
-- FENCE: read the counter of a name.
--
-- Part of other scripts (--@include fence.lua), after head.lua.
--   fence   its text; false: there is none
--   digits  the first 16 of it; c: the counter, 0 if there is none
--   odd     an error if the key was edited by hand and is no fence. It counts
--           as absent then. Else false
--
-- Verbs that grant or renew return the error, before their first write: with
-- the counter the order of fences is lost, which must not pass unnoticed. BREAK
-- writes the counter anew, as if it had been evicted, and verbs that only read
-- show the holder.
local fence = redis.pcall('GET', KEYS[2])
local digits = type(fence) == 'string' and
    string.match(fence .. ' ', '^(%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d) ')
local c = digits and digits + 0 or 0
local odd = false
if fence and not digits or c > FENCE_MAX then
    if type(fence) == 'table' and not string.find(fence.err, 'WRONGTYPE') then
        redis.call('GET', KEYS[2]) -- a right is missing: fails again, aloud
    end
    odd = "HFFENCE its counter was edited: 'holdfast break' of the name " ..
        'writes it anew: key ' .. string.sub(KEYS[2], 1, 200)
    fence, digits, c = false, false, 0
end
