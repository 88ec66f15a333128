-- SPDX-License-Identifier: Apache-2.0
-- HEAD: the constants; core/limits.h gives the reasons of those of counters.
--
-- Part of other scripts (--@include head.lua). Each script contains only the
-- constants that it uses.
--   FENCE_MAX   greatest counter: HF_FENCE_MAX
--   FLOOR_STEP  microseconds from one clock floor to the next: HF_FLOOR_BITS
--   AHEAD_MAX   most by which a counter may be raised: HF_FENCE_AHEAD_MAX
--   HALF        divides a counter into halves of eight digits. Most requests
--               write one: '%08d%08d' of both takes a third of the time of
--               '%016.0f', and eight digits fit %d on every server.
--   TEXT_MAX    bytes of an owner in a reply: HF_SEIZED_TEXT_MAX. A value of
--               another program may be of any size, and a client refuses a
--               reply above 4 MiB. A client keeps less, to give it back.
local FENCE_MAX = 9007199254740991
local FLOOR_STEP = 4194304
local AHEAD_MAX = 4294967296
local HALF = 100000000
local TEXT_MAX = 512
