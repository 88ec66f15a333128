-- SPDX-License-Identifier: Apache-2.0
-- INSPECT: read the holder of a name. Writes nothing.
--
-- KEYS as in queue.lua; 8 the mark
-- -> {1, c, left ms, owner, 0, is a type, 0, 0, terms, sharers, waiters}
--                                     left -1: no expiry, -2: free
--@include head.lua
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local owner = redis.pcall('GET', KEYS[1])
--@include fence.lua
local keep = 0
--@include queue.lua
--@include ended.lua

local reply = show_mark(answer(1))
reply[11] = redis.call('ZCARD', KEYS[3])
return reply
