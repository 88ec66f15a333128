-- SPDX-License-Identifier: Apache-2.0
-- PUT: write or delete a value if it has the expected version.
--
-- KEYS 1 the value
-- ARGV 1 the version that it must have; 0: there must be none; '': any
--      2 id of this write, 32 characters
--      3 to delete it: ms for which its version is kept; '': write
--      4 the new value
-- -> {1, version}   it was written, by this request or by an earlier copy of it
--    {0, version}   it has this version (0: there is none), and stays
--
-- A value is one string, so that it takes one read and one write: 16 digits
-- (its version), the id of its write, and the data, with blanks between. A
-- deleted value is a string that ends with the id, and expires.
--
-- Versions never repeat: each is greater than the last, and than the clock at
-- the time of each earlier write. A deleted value expires only after the clock
-- has passed its version, by `keep`.
--
-- It compares no marker (hf:node): a node that lost its values cannot get them
-- back by a quarantine, and the clock keeps new versions above the lost ones.
--@include head.lua
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local stored = redis.call('GET', KEYS[1])
local last = 0
local version = 0
if stored then
    last = #stored >= 49 and tonumber(string.sub(stored, 1, 16))
    if not last then
        return redis.error_reply('HFVALUE its key has no value of Holdfast')
    end
    if string.sub(stored, 18, 49) == ARGV[2] then
        return {1, last}
    end
    if #stored > 49 then
        version = last
    end
end
if ARGV[1] ~= '' and tonumber(ARGV[1]) ~= version then
    return {0, version}
end
local new = math.max(last + 1, us)
assert(new <= FENCE_MAX, 'its version cannot rise')
local text = string.format('%016.0f ', new) .. ARGV[2]
if ARGV[3] == '' then
    redis.call('SET', KEYS[1], text .. ' ' .. ARGV[4])
else
    local ms = string.format('%.0f', math.ceil((new - us) / 1000) + ARGV[3])
    local fault = redis.pcall('SET', KEYS[1], text, 'PX', ms).err
    if fault and string.find(fault, 'OOM') then
        redis.call('DEL', KEYS[1]) -- after a first write no SET is refused
    end
    if fault then
        redis.call('SET', KEYS[1], text, 'PX', ms)
    end
end
return {1, new}
