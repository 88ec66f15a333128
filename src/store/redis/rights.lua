-- SPDX-License-Identifier: Apache-2.0
-- RIGHTS: test which commands this user may run inside a script.
--
-- KEYS as in queue.lua, of a name that is used only for this; 7 hf:node
-- ARGV 1 a channel of this client
-- -> {command, error, command, error, ..} of the refused commands
--
-- It calls every command of the other scripts once. The name is a string
-- that expires in a second, so that the commands for other types change nothing
-- (WRONGTYPE), and it is deleted at the end.
local calls = {
    {'SET', KEYS[1], 'probe', 'PX', 1000},
    {'GET', KEYS[1]},
    {'EXISTS', KEYS[1]},
    {'TYPE', KEYS[1]},
    {'PTTL', KEYS[1]},
    {'PEXPIRE', KEYS[1], 1000},
    {'TIME'},
    {'HGET', KEYS[7], 'v'},
    {'HDEL', KEYS[1], 'field'},
    {'ZADD', KEYS[1], 'XX', 1, 'member'},
    {'ZREM', KEYS[1], 'member'},
    {'ZPOPMIN', KEYS[1]},
    {'ZRANGE', KEYS[1], 0, 0},
    {'ZRANGEBYSCORE', KEYS[1], '-inf', '+inf', 'LIMIT', 0, 1},
    {'ZREVRANGE', KEYS[1], 0, 0},
    {'ZSCORE', KEYS[1], 'member'},
    {'ZRANK', KEYS[1], 'member'},
    {'ZCARD', KEYS[1]},
    {'ZCOUNT', KEYS[1], '-inf', '+inf'},
    {'PUBLISH', ARGV[1], ''}
}
local refused = {}
local function try(call)
    local reply = redis.pcall(unpack(call))
    local error = type(reply) == 'table' and reply.err
    if error and string.sub(error, 1, 9) ~= 'WRONGTYPE' then
        refused[#refused + 1] = call[1]
        refused[#refused + 1] = error
    end
    return not error
end
local is_set = try(calls[1])
for i = 2, #calls do
    try(calls[i])
end
if is_set then
    try({'HSET', KEYS[1], 'field', 'value'})
end
try({'PEXPIREAT', KEYS[1], 1})
try({'DEL', KEYS[1]})
return refused
