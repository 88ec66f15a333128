-- SPDX-License-Identifier: Apache-2.0
-- LOOK: which of these locks are held? Writes nothing.
--
-- KEYS locks, at most a page of SCAN
-- ARGV 1 how many to name at most
-- -> {how many are held, then those named}
--
-- A key of another type is held: no lock is granted there. A name that is kept
-- taken after its command ended has no holder.
local held = 0
local reply = {0}
for _, key in ipairs(KEYS) do
    local owner = redis.pcall('GET', key)
    if owner and (type(owner) == 'table' or
        string.sub(owner, 1, 6) ~= 'ended:') then
        held = held + 1
        if held <= tonumber(ARGV[1]) then
            reply[held + 1] = key
        end
    end
end
reply[1] = held
return reply
