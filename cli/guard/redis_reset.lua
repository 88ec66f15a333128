-- SPDX-License-Identifier: Apache-2.0
-- After this, any fence of the name passes beside KEYS[1] and the keys of its
-- hash tag, one of a former holder too. Stop all writers of the name first.
local name, key = @NAME@, KEYS[1] or ''
local first = string.find(key, '{', 1, true)
local last = first and string.find(key, '}', first + 1, true)
local tag = key
if last and last > first + 1 then
    tag = string.sub(key, first + 1, last - 1)
end
if #KEYS ~= 1 then
    return redis.error_reply('ERR holdfast: one key at a time: EVAL SCRIPT 1'
        .. ' KEY')
end
return redis.call('DEL', 'holdfast-guard:{' .. tag .. '}:' .. name)
