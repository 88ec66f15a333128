-- SPDX-License-Identifier: Apache-2.0
-- Redis 6 and later, Valkey: refuse the writes of a lock's former holders.
--
--   sha=$(holdfast guard redis | redis-cli -x SCRIPT LOAD)
--   redis-cli EVALSHA $sha 1 KEY NAME FENCE SET VALUE
--
-- KEYS[1] is the key to write. ARGV: the lock's name, the fence, a command of
-- the list below, and what follows its key:
--
--   SET value [option ...]    HSET field value ...    INCRBY number    DEL
--   GET    HGETALL
--
-- The reply is that of the command. A fence below the largest that was
-- presented is the error STALEFENCE, and the command is not run. A script runs
-- alone, so no other fence can pass between a check and its write.
--
-- The memory, one key per name and hash tag, lies in the slot of KEYS[1]:
-- holdfast-guard:{TAG}:NAME. A key without a hash tag is its own tag.
local LARGEST = '9223372036854775807'
local COMMANDS = {
    SET = true, HSET = true, INCRBY = true, DEL = true, GET = true,
    HGETALL = true,
}
local key, name, fence = KEYS[1], ARGV[1], ARGV[2]
local command = string.upper(ARGV[3] or '')

local function refuse(reason)
    return redis.error_reply('ERR holdfast: ' .. reason)
end

-- Without leading zeros; compared as text, since numbers here are doubles.
local function is_less(a, b)
    return #a < #b or (#a == #b and a < b)
end

-- nil: a hash tag cannot name the slot of this key.
local function tag_of(text)
    local first = string.find(text, '{', 1, true)
    local last = first and string.find(text, '}', first + 1, true)
    if last and last > first + 1 then
        return string.sub(text, first + 1, last - 1)
    end
    if text ~= '' and not string.find(text, '}', 1, true) then
        return text
    end
end

if #KEYS ~= 1 then
    return refuse('one key at a time: EVALSHA SHA 1 KEY NAME FENCE COMMAND')
end
if not name or #name < 1 or #name > 1028 then
    return refuse('the name of a lock has 1 to 1028 bytes')
end
if not fence or not string.find(fence, '^[1-9]%d*$')
    or is_less(LARGEST, fence) then
    return refuse('a fence must be 1 to ' .. LARGEST
        .. ' (0: the lock is not held)')
end
if not COMMANDS[command] then
    return refuse('the command must be SET, HSET, INCRBY, DEL, GET or HGETALL')
end
if command == 'DEL' and #ARGV > 3 then
    return refuse('DEL deletes one key')
end
local tag = tag_of(key)
if not tag or string.sub(key, 1, 15) == 'holdfast-guard:' then
    return refuse('no guard for this key: it must not be empty, not start with'
        .. ' holdfast-guard:, and have a } only behind a hash tag')
end

-- Only the data of a server that keeps all keys can be guarded.
local policy = string.match(redis.call('INFO', 'memory'),
    'maxmemory_policy:([%w-]+)')
if policy ~= 'noeviction' then
    return refuse('this server may evict the largest fence (maxmemory-policy '
        .. (policy or 'unknown') .. '): set maxmemory-policy noeviction')
end

local memory = 'holdfast-guard:{' .. tag .. '}:' .. name
local seen = redis.call('GET', memory)
if seen and is_less(fence, seen) then
    return redis.error_reply('STALEFENCE holdfast: fence ' .. fence .. " of '"
        .. string.gsub(name, '%c', '?') .. "' is stale: " .. seen
        .. ' was presented')
end
if seen ~= fence then
    redis.call('SET', memory, fence)
end
return redis.call(command, key, unpack(ARGV, 4))
