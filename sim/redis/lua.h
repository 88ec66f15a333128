/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter, for lua.c and script.c.
 *
 * The bottom of Lua's stack has the values for every run: the handler of
 * errors, KEYS and ARGV. Runs share the two tables, so a script must not write
 * to them; none of Holdfast's does. lua.c makes and frees struct sim_lua
 * (sim_lua_new(), redis.h); script.c compiles and runs scripts in it. */
#ifndef SIM_REDIS_LUA_H
#define SIM_REDIS_LUA_H

#include "redis/server.h"

#include <lauxlib.h>

/* Positions on Lua's stack. */
enum { AT_HANDLER = 1, AT_KEYS, AT_ARGV };

/* The text of a number in a script's arguments, with its NUL. */
struct number {
    char text[SIM_NUMBER_MAX + 1];
};

/* Blocks of 16, 32 ... 496 bytes that Lua frees are kept for reuse. */
enum { SIM_LUA_UNIT = 16, SIM_LUA_SIZES = 32 };

struct sim_piece;

/* The strings that a table has now. They are Lua's own. */
struct sim_filled {
    struct sim_arg *strings;
    size_t n;
    size_t cap;
};

struct sim_lua {
    lua_State *state;
    struct sim_piece *spare[SIM_LUA_SIZES];
    struct sim_piece *chunks;
    char *chunk_at; /* the part of the last chunk that was never used */
    size_t chunk_left;
    struct sim_script *scripts;
    struct sim_call *running; /* the EVAL; NULL: none */
    struct sim_filled keys;   /* in KEYS now */
    struct sim_filled args;
    struct sim_arg *argv; /* of a command in a script */
    struct number *numbers;
    size_t cap_args;
    struct sim_text reply;
};

#endif
