-- SPDX-License-Identifier: Apache-2.0
-- LOOK: count which of these locks are held. Writes nothing.
--
-- KEYS locks, at most a page of SCAN
-- ARGV 1 most names in the reply
-- -> {number of locks that are held, then the names of the first ones}
--
-- A key of another type counts as held: no lock is granted there. A name that
-- was released with a reservation ("ended:") has no holder.
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
