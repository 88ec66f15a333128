/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that a script may call, as in Redis 7.0: redis.call() and
 * others, the conversion of replies to Lua values, and the texts of errors. */
#include "redis/lua.h"
#include "redis/sha1.h"

#include "base/assert.h"

#include <lualib.h>
#include <stdlib.h>

static struct sim_lua *lua_of(lua_State *state)
{
    return lua_touserdata(state, lua_upvalueindex(1));
}

/* ---- Errors -------------------------------------------------------------- */

/* Push {err = "CODE words"}, from "-CODE words" or from "words" without a code.
 */
static void push_error(lua_State *state, const char *text)
{
    const char *words = text;
    lua_createtable(state, 0, 2);
    if (text[0] == '-' && strchr(text, ' ') != NULL) {
        words = text + 1;
        lua_pushliteral(state, "");
    } else {
        words += text[0] == '-';
        lua_pushliteral(state, "ERR ");
    }
    size_t len = strlen(words);
    while (len > 0 && (words[len - 1] == '\r' || words[len - 1] == '\n')) {
        len--;
    }
    lua_pushlstring(state, words, len);
    lua_concat(state, 2);
    lua_setfield(state, -2, "err");
}

/* The error of a command, which Redis has counted already. */
static void push_command_error(lua_State *state, const char *text)
{
    push_error(state, text);
    lua_pushboolean(state, 1);
    lua_setfield(state, -2, "ignore_error_stats_update");
}

/* The source of an error: the Lua code that runs, or that called C. */
static bool find_place(lua_State *state, lua_Debug *place)
{
    for (int level = 1; level <= 2; level++) {
        if (lua_getstack(state, level, place) == 0) {
            return false;
        }
        lua_getinfo(state, "Sl", place);
        if (place->what[0] != 'C') {
            return true;
        }
    }
    return true;
}

static int handle_error(lua_State *state)
{
    lua_Debug place;
    bool has_place = find_place(state, &place);
    lua_settop(state, 1);
    if (!lua_istable(state, 1)) {
        lua_createtable(state, 0, 3);
        lua_pushliteral(state, "ERR ");
        lua_getglobal(state, "tostring");
        lua_pushvalue(state, 1);
        lua_call(state, 1, 1);
        lua_concat(state, 2);
        lua_setfield(state, -2, "err");
    }
    if (has_place) {
        lua_pushstring(state, place.source);
        lua_setfield(state, -2, "source");
        lua_pushinteger(state, place.currentline);
        lua_setfield(state, -2, "line");
    }
    return 1;
}

/* ---- A command's reply becomes a value ----------------------------------- */

static const char *push_reply(lua_State *state, const char *at);

/* Read "<number>\r\n". @return the text after it. */
static const char *read_number(const char *at, int64_t *out)
{
    bool is_negative = *at == '-';
    uint64_t number = 0;
    for (at += is_negative; *at != '\r'; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    *out = (int64_t)(is_negative ? 0 - number : number);
    return at + 2;
}

static const char *push_array(lua_State *state, const char *at, int64_t n)
{
    lua_createtable(state, (int)n, 0);
    for (int i = 1; i <= n; i++) {
        at = push_reply(state, at);
        lua_rawseti(state, -2, i);
    }
    return at;
}

/* Push one reply at `at`, which is complete and valid. @return the text after
 * it. */
static const char *push_reply(lua_State *state, const char *at)
{
    int64_t number;
    char kind = *at++;
    luaL_checkstack(state, 4, "a reply too deep");
    if (kind == '+' || kind == '-') {
        const char *end = strstr(at, "\r\n");
        if (kind == '-') {
            lua_pushlstring(state, at - 1, (size_t)(end - at) + 1);
            push_command_error(state, lua_tostring(state, -1));
            lua_remove(state, -2);
        } else {
            lua_createtable(state, 0, 1);
            lua_pushlstring(state, at, (size_t)(end - at));
            lua_setfield(state, -2, "ok");
        }
        return end + 2;
    }
    at = read_number(at, &number);
    if (kind == ':') {
        lua_pushnumber(state, (lua_Number)number);
    } else if (number < 0) {
        lua_pushboolean(state, 0);
    } else if (kind == '*') {
        at = push_array(state, at, number);
    } else {
        lua_pushlstring(state, at, (size_t)number);
        at += number + 2;
    }
    return at;
}

/* ---- redis.call(), redis.pcall() ----------------------------------------- */

static void reserve_args(struct sim_lua *lua, size_t n)
{
    if (n <= lua->cap_args) {
        return;
    }
    lua->argv = sim_realloc(lua->argv, n * sizeof(*lua->argv));
    lua->numbers = sim_realloc(lua->numbers, n * sizeof(*lua->numbers));
    lua->cap_args = n;
}

/* @return false: an argument is neither text nor number. */
static bool read_args(struct sim_lua *lua, lua_State *state, int n)
{
    reserve_args(lua, (size_t)n);
    for (int i = 0; i < n; i++) {
        struct sim_arg *arg = &lua->argv[i];
        int type = lua_type(state, i + 1);
        if (type == LUA_TNUMBER) {
            char *text = lua->numbers[i].text;
            arg->len = sim_double_format(text, lua_tonumber(state, i + 1));
            text[arg->len] = '\0';
            arg->data = text;
        } else if (type == LUA_TSTRING) {
            arg->data = lua_tolstring(state, i + 1, &arg->len);
        } else {
            return false;
        }
    }
    return true;
}

/* @return NULL: the command may be executed. A script that has written may
 * continue when memory is full, since it cannot be undone. */
static const char *refuse(const struct sim_command *command, size_t argc,
                          const struct sim_redis *redis)
{
    const struct sim_running *running = &redis->running;
    if (command == NULL) {
        return "Unknown Redis command called from script";
    }
    if (!sim_command_takes(command, argc)) {
        return "Wrong number of args calling Redis command from script";
    }
    if ((command->flags & SIM_NO_SCRIPT) != 0) {
        return "This Redis command is not allowed from script";
    }
    if ((command->flags & SIM_CHANNELS) != 0 && redis->is_mute) {
        return "The user executing the script can't publish to the channel "
               "mentioned in the command";
    }
    if ((command->flags & SIM_DENY_FULL) != 0 && running->is_full &&
        !running->has_written) {
        return "-OOM command not allowed when used memory > 'maxmemory'.";
    }
    return NULL;
}

/* @return true: the pushed value is an error. */
static bool execute(struct sim_lua *lua, lua_State *state, size_t argc)
{
    struct sim_redis *redis = lua->running->redis;
    bool is_container;
    struct sim_call call = {
        .redis = redis,
        .session = lua->running->session,
        .command = sim_command_find(lua->argv, argc, &is_container),
        .argv = lua->argv,
        .argc = argc,
        .out = &lua->reply,
    };
    const char *refusal = refuse(call.command, argc, redis);
    if (refusal != NULL) {
        push_command_error(state, refusal);
        return true;
    }
    redis->running.has_written |= (call.command->flags & SIM_WRITES) != 0;
    lua->reply.len = 0;
    call.command->run(&call);
    lua_settop(state, 0);
    push_reply(state, lua->reply.data);
    return lua->reply.data[0] == '-';
}

static int command(lua_State *state, bool raises)
{
    struct sim_lua *lua = lua_of(state);
    int argc = lua_gettop(state);
    bool is_error = true;
    if (lua->running == NULL) {
        push_error(state, "redis.call/pcall can only be called inside a script "
                          "invocation");
        return lua_error(state);
    }
    if (argc == 0) {
        push_error(state, "Please specify at least one argument for this redis "
                          "lib call");
    } else if (!read_args(lua, state, argc)) {
        push_error(state, "Lua redis lib command arguments must be strings or "
                          "integers");
    } else {
        is_error = execute(lua, state, (size_t)argc);
    }
    return raises && is_error ? lua_error(state) : 1;
}

static int redis_call(lua_State *state)
{
    return command(state, true);
}

static int redis_pcall(lua_State *state)
{
    return command(state, false);
}

/* ---- Other functions for scripts ----------------------------------------- */

static int error_reply(lua_State *state)
{
    if (lua_gettop(state) != 1 || lua_type(state, 1) != LUA_TSTRING) {
        push_error(state, "wrong number or type of arguments");
        return 1;
    }
    const char *text = lua_tostring(state, 1);
    if (text[0] != '-') {
        text = lua_pushfstring(state, "-%s", text);
    }
    push_error(state, text);
    return 1;
}

static int status_reply(lua_State *state)
{
    if (lua_gettop(state) != 1 || lua_type(state, 1) != LUA_TSTRING) {
        push_error(state, "wrong number or type of arguments");
        return 1;
    }
    lua_createtable(state, 0, 1);
    lua_pushvalue(state, 1);
    lua_setfield(state, -2, "ok");
    return 1;
}

static int sha1hex(lua_State *state)
{
    char digest[SIM_ID_SIZE];
    size_t len;
    if (lua_gettop(state) != 1) {
        push_error(state, "wrong number of arguments");
        return lua_error(state);
    }
    const char *text = lua_tolstring(state, 1, &len);
    sim_sha1_hex(digest, text, text == NULL ? 0 : len);
    lua_pushstring(state, digest);
    return 1;
}

/* pcall(): for an error of Redis it returns the text, not the table. */
static int protected_call(lua_State *state)
{
    int argc = lua_gettop(state);
    lua_pushboolean(state, 1);
    lua_insert(state, 1);
    if (lua_pcall(state, argc - 1, LUA_MULTRET, 0) != 0) {
        lua_remove(state, 1);
        if (lua_istable(state, -1)) {
            lua_getfield(state, -1, "err");
            if (lua_isstring(state, -1)) {
                lua_replace(state, -2);
            }
        }
        lua_pushboolean(state, 0);
        lua_insert(state, 1);
    }
    return lua_gettop(state);
}

static int no_such_global(lua_State *state)
{
    return luaL_error(state,
                      "Script attempted to access nonexistent global variable "
                      "'%s'",
                      lua_tostring(state, 2));
}

static int no_new_global(lua_State *state)
{
    return luaL_error(state, "Attempt to modify a readonly table");
}

static int no_random(lua_State *state)
{
    return luaL_error(state, "random numbers are not simulated");
}

/* ---- Memory -------------------------------------------------------------- */

/* An allocator of free lists, one for each size: Lua's blocks are small and
 * short-lived, and Lua passes their sizes. With malloc() allocation took a
 * sixth of the time of a run. They are cut from chunks of 64 KiB, of which an
 * interpreter needs a few. */
#define CHUNK_BYTES 65536

struct sim_piece {
    struct sim_piece *next;
};

/* In units of 16 bytes; SIM_LUA_SIZES: too large for the free lists. */
static size_t size_class(size_t size)
{
    size_t units = (size + SIM_LUA_UNIT - 1) / SIM_LUA_UNIT;
    return units < SIM_LUA_SIZES ? units : SIM_LUA_SIZES;
}

static void *take_piece(struct sim_lua *lua, size_t class)
{
    size_t size = class * SIM_LUA_UNIT;
    struct sim_piece *piece = lua->spare[class];
    if (piece != NULL) {
        lua->spare[class] = piece->next;
        return piece;
    }
    if (lua->chunk_left < size) {
        struct sim_piece *chunk = sim_alloc(CHUNK_BYTES);
        chunk->next = lua->chunks;
        lua->chunks = chunk;
        lua->chunk_at = (char *)chunk + SIM_LUA_UNIT;
        lua->chunk_left = CHUNK_BYTES - SIM_LUA_UNIT;
    }
    lua->chunk_left -= size;
    lua->chunk_at += size;
    return lua->chunk_at - size;
}

static void put_piece(struct sim_lua *lua, void *memory, size_t class)
{
    struct sim_piece *piece = memory;
    piece->next = lua->spare[class];
    lua->spare[class] = piece;
}

/* lua_Alloc. */
static void *allocate(void *user, void *old, size_t old_size, size_t size)
{
    struct sim_lua *lua = user;
    size_t from = size_class(old_size);
    size_t to = size_class(size);
    if (old != NULL && from == to && from < SIM_LUA_SIZES) {
        return old;
    }
    if (from == SIM_LUA_SIZES && to == SIM_LUA_SIZES) {
        return sim_realloc(old, size);
    }
    void *memory = NULL;
    if (size > 0) {
        memory = to < SIM_LUA_SIZES ? take_piece(lua, to) : sim_alloc(size);
    }
    if (old == NULL) {
        return memory;
    }
    if (size > 0) {
        memcpy(memory, old, old_size < size ? old_size : size);
    }
    if (from < SIM_LUA_SIZES) {
        put_piece(lua, old, from);
    } else {
        free(old);
    }
    return memory;
}

/* ---- The interpreter ----------------------------------------------------- */

static void open_library(lua_State *state, const char *name, lua_CFunction open)
{
    lua_pushcfunction(state, open);
    lua_pushstring(state, name);
    lua_call(state, 1, 0);
}

static void set_function(struct sim_lua *lua, int table, const char *name,
                         lua_CFunction function)
{
    lua_pushlightuserdata(lua->state, lua);
    lua_pushcclosure(lua->state, function, 1);
    lua_setfield(lua->state, table, name);
}

static void open_redis(struct sim_lua *lua)
{
    lua_newtable(lua->state);
    int redis = lua_gettop(lua->state);
    set_function(lua, redis, "call", redis_call);
    set_function(lua, redis, "pcall", redis_pcall);
    set_function(lua, redis, "error_reply", error_reply);
    set_function(lua, redis, "status_reply", status_reply);
    set_function(lua, redis, "sha1hex", sha1hex);
    lua_setglobal(lua->state, "redis");
}

static void push_argument_table(lua_State *state, const char *name)
{
    lua_createtable(state, 16, 0);
    lua_pushvalue(state, -1);
    lua_setglobal(state, name);
}

static void close_globals(struct sim_lua *lua)
{
    static const char *const removed[] = {"dofile", "loadfile", "print"};
    lua_State *state = lua->state;
    for (size_t i = 0; i < sizeof(removed) / sizeof(removed[0]); i++) {
        lua_pushnil(state);
        lua_setglobal(state, removed[i]);
    }
    set_function(lua, LUA_GLOBALSINDEX, "pcall", protected_call);
    lua_getglobal(state, "math");
    set_function(lua, lua_gettop(state), "random", no_random);
    set_function(lua, lua_gettop(state), "randomseed", no_random);
    lua_newtable(state);
    set_function(lua, lua_gettop(state), "__index", no_such_global);
    set_function(lua, lua_gettop(state), "__newindex", no_new_global);
    lua_setmetatable(state, LUA_GLOBALSINDEX);
    lua_settop(state, AT_ARGV);
}

/* A garbage collection starts when memory is this large, in percent of that in
 * use after the last one. With more garbage the heap leaves the processor's
 * cache: at 1000 a run takes a quarter longer. */
#define GC_PAUSE 200

struct sim_lua *sim_lua_new(void)
{
    struct sim_lua *lua = sim_alloc(sizeof(*lua));
    *lua = (struct sim_lua){0};
    lua_State *state = lua_newstate(allocate, lua);
    HF_ASSERT(state != NULL);
    lua->state = state;
    lua_gc(state, LUA_GCSETPAUSE, GC_PAUSE);
    open_library(state, "", luaopen_base);
    open_library(state, LUA_TABLIBNAME, luaopen_table);
    open_library(state, LUA_STRLIBNAME, luaopen_string);
    open_library(state, LUA_MATHLIBNAME, luaopen_math);
    open_redis(lua);
    lua_settop(state, 0);
    lua_pushcfunction(state, handle_error);
    push_argument_table(state, "KEYS");
    push_argument_table(state, "ARGV");
    close_globals(lua);
    return lua;
}

void sim_lua_free(struct sim_lua *lua)
{
    if (lua == NULL) {
        return;
    }
    lua_close(lua->state);
    while (lua->scripts != NULL) {
        struct sim_script *script = lua->scripts;
        lua->scripts = script->next;
        free(script);
    }
    while (lua->chunks != NULL) {
        struct sim_piece *chunk = lua->chunks;
        lua->chunks = chunk->next;
        free(chunk);
    }
    free(lua->keys.strings);
    free(lua->args.strings);
    free(lua->argv);
    free(lua->numbers);
    sim_text_fini(&lua->reply);
    free(lua);
}
