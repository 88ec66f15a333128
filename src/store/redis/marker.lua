-- SPDX-License-Identifier: Apache-2.0
-- MARKER: write what this server is known as (core/quarantine.h).
--
-- KEYS 1 hf:node
-- ARGV 1 the value it must have now ("": there must be none; "*": any),
--      2 the new value, then field and content, alternating
-- -> 1 written, 0 another client was faster: read it again
--
-- It has no expiry, and touches no lock.
local value = redis.call('HGET', KEYS[1], 'v') or ''
if ARGV[1] ~= '*' and value ~= ARGV[1] then
    return 0
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'v', unpack(ARGV, 2))
return 1
