/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles and runs scripts, and converts their values to replies, as in Redis
 * 7.0. */
#include "redis/lua.h"
#include "redis/sha1.h"

#include "store/redis/scripts.h"

/* ---- Scripts ------------------------------------------------------------- */

const char *sim_script_name(const char *sha1)
{
    const struct hf_script *const ours[] = {
        &hf_script_acquire, &hf_script_confirm, &hf_script_release,
        &hf_script_break,   &hf_script_inspect, &hf_script_list,
        &hf_script_mark,    &hf_script_marker};
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (strcmp(ours[i]->sha1, sha1) == 0) {
            return ours[i]->name;
        }
    }
    return "";
}

const struct sim_script *sim_script_compile(struct sim_lua *lua,
                                            const char *text, size_t len,
                                            struct sim_text *out)
{
    struct sim_script *script = lua->scripts;
    while (script != NULL &&
           (script->len != len || memcmp(script->text, text, len) != 0)) {
        script = script->next;
    }
    if (script != NULL) {
        return script;
    }
    if (luaL_loadbuffer(lua->state, text, len, "@user_script") != 0) {
        sim_reply_error(out, "ERR Error compiling script (new function): %s",
                        lua_tostring(lua->state, -1));
        lua_settop(lua->state, AT_ARGV);
        return NULL;
    }
    script = sim_alloc(sizeof(*script) + len);
    script->function = luaL_ref(lua->state, LUA_REGISTRYINDEX);
    script->len = len;
    memcpy(script->text, text, len);
    sim_sha1_hex(script->sha1, text, len);
    script->name = sim_script_name(script->sha1);
    script->next = lua->scripts;
    lua->scripts = script;
    return script;
}

static void reserve(struct sim_filled *filled, size_t n)
{
    if (n > filled->cap) {
        filled->cap = 2 * n;
        filled->strings =
            sim_realloc(filled->strings, filled->cap * sizeof(struct sim_arg));
    }
}

/* Put the arguments into the table. Most are those of the last run: a client
 * sends the same request to several nodes. These stay. */
static void fill(lua_State *state, int table, const struct sim_arg *args,
                 size_t n, struct sim_filled *filled)
{
    reserve(filled, n);
    for (size_t i = 0; i < n; i++) {
        struct sim_arg *had = &filled->strings[i];
        if (i < filled->n && had->len == args[i].len &&
            memcmp(had->data, args[i].data, had->len) == 0) {
            continue;
        }
        lua_pushlstring(state, args[i].data, args[i].len);
        had->data = lua_tolstring(state, -1, &had->len);
        lua_rawseti(state, table, (int)i + 1);
    }
    for (size_t i = n; i < filled->n; i++) {
        lua_pushnil(state);
        lua_rawseti(state, table, (int)i + 1);
    }
    filled->n = n;
}

/* ---- A script's value becomes a reply ------------------------------------ */

static void reply_value(lua_State *state, struct sim_text *out);

/* @return the field, if it is text; NULL: it is not, and nothing is pushed. */
static const char *text_field(lua_State *state, const char *name, size_t *len)
{
    lua_pushstring(state, name);
    lua_rawget(state, -2);
    const char *text = lua_type(state, -1) == LUA_TSTRING
                           ? lua_tolstring(state, -1, len)
                           : NULL;
    lua_pop(state, 1);
    return text;
}

/* {double = number}. */
static bool reply_double(lua_State *state, struct sim_text *out)
{
    lua_pushliteral(state, "double");
    lua_rawget(state, -2);
    bool is_double = lua_type(state, -1) == LUA_TNUMBER;
    if (is_double) {
        sim_reply_double(out, lua_tonumber(state, -1));
    }
    lua_pop(state, 1);
    return is_double;
}

static void reply_table(lua_State *state, struct sim_text *out)
{
    size_t len;
    const char *text = text_field(state, "err", &len);
    if (text != NULL) {
        sim_reply_error(out, "%s", text);
        return;
    }
    text = text_field(state, "ok", &len);
    if (text != NULL) {
        size_t begin = out->len;
        sim_reply_status(out, text);
        for (size_t i = begin; i < out->len - 2; i++) {
            char *c = &out->data[i];
            *c = *c == '\r' || *c == '\n' ? ' ' : *c;
        }
        return;
    }
    if (reply_double(state, out)) {
        return;
    }
    int n = 0;
    do {
        lua_rawgeti(state, -1, ++n);
        len = lua_isnil(state, -1) ? 0 : 1;
        lua_pop(state, 1);
    } while (len != 0);
    sim_reply_array(out, (size_t)n - 1);
    for (int i = 1; i < n; i++) {
        lua_rawgeti(state, -1, i);
        reply_value(state, out);
    }
}

/* Reply the value on top of the stack, and pop it. */
static void reply_value(lua_State *state, struct sim_text *out)
{
    size_t len;
    const char *text;
    if (lua_checkstack(state, 4) == 0) {
        sim_reply_error(out, "ERR reached lua stack limit");
        lua_pop(state, 1);
        return;
    }
    switch (lua_type(state, -1)) {
    case LUA_TSTRING:
        text = lua_tolstring(state, -1, &len);
        sim_reply_bulk(out, text, len);
        break;
    case LUA_TBOOLEAN:
        if (lua_toboolean(state, -1)) {
            sim_reply_integer(out, 1);
        } else {
            sim_reply_null(out);
        }
        break;
    case LUA_TNUMBER:
        sim_reply_integer(out, sim_double_truncate(lua_tonumber(state, -1)));
        break;
    case LUA_TTABLE:
        reply_table(state, out);
        break;
    default:
        sim_reply_null(out);
        break;
    }
    lua_pop(state, 1);
}

static const char *field_words(lua_State *state, const char *name)
{
    lua_getfield(state, -1, name);
    return lua_tostring(state, -1);
}

static void reply_failure(lua_State *state, const struct sim_script *script,
                          struct sim_text *out)
{
    if (!lua_istable(state, -1)) {
        const char *words = lua_tostring(state, -1);
        sim_reply_error(out, "ERR Error running script %s, %.100s",
                        script->sha1,
                        words == NULL ? "execution failure" : words);
        return;
    }
    int table = lua_gettop(state);
    const char *words = field_words(state, "err");
    lua_pushvalue(state, table);
    const char *source = field_words(state, "source");
    lua_pushvalue(state, table);
    const char *line = field_words(state, "line");
    words = words == NULL ? "ERR" : words;
    if (source != NULL && line != NULL) {
        sim_reply_error(out, "%s script: %s, on %s:%s.", words, script->sha1,
                        source, line);
    } else {
        sim_reply_error(out, "%s", words);
    }
}

void sim_script_run(struct sim_call *call, const struct sim_script *script,
                    size_t n_keys)
{
    struct sim_lua *lua = call->redis->lua;
    lua_State *state = lua->state;
    fill(state, AT_KEYS, call->argv + 3, n_keys, &lua->keys);
    fill(state, AT_ARGV, call->argv + 3 + n_keys, call->argc - 3 - n_keys,
         &lua->args);
    call->redis->running = (struct sim_running){
        .session = call->session, .is_full = call->redis->is_full};
    lua->running = call;
    lua_rawgeti(state, LUA_REGISTRYINDEX, script->function);
    int status = lua_pcall(state, 0, 1, AT_HANDLER);
    lua->running = NULL;
    call->redis->running.session = NULL;
    if (status != 0) {
        reply_failure(state, script, call->out);
    } else {
        reply_value(state, call->out);
    }
    lua_settop(state, AT_ARGV);
}
