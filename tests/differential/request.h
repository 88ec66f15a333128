/* SPDX-License-Identifier: Apache-2.0 */
/* A request, and how the shipped scripts are asked, in the simulated server
 * (../unit/world_scripts.h). What a node replies is printed, so that two
 * replies are compared as texts. */
#ifndef HF_TESTS_REQUEST_H
#define HF_TESTS_REQUEST_H

#include "../unit/world_scripts.h"

/* Bytes of an owner: 32 digits, "host", two numbers, three colons. */
#define OWNER_LEN 60
#define NAME "lock:a"
#define MAX_TTL_MS 60000 /* of the store: one span of suite.h exceeds it */
/* Bytes of a marker, or of an entry of it: a letter and a number. */
#define FIELD_LEN 16

enum verb { ACQUIRE, CONFIRM, RELEASE, BREAK, MARK, PUT, AHEAD, MARKER, VERBS };

struct request {
    enum verb verb;
    char owner[OWNER_LEN];
    char other[OWNER_LEN]; /* BREAK: to return the name to it; else empty */
    char mode[8];
    char channel[16];
    unsigned cookie;
    int64_t ttl_ms; /* RELEASE: of a reservation; MARK: of the mark; PUT: to
                       keep the version of a deleted value */
    uint64_t counter;
    bool flag; /* overtake; holder; at once; AHEAD: lower; PUT: delete */
    int64_t place_ms;
    uint64_t ticket;
    uint64_t returned;
    char marker[FIELD_LEN]; /* that the client knows; MARKER: "": none, "*": any
                             */
    char fresh[FIELD_LEN];  /* MARKER: the new one; flag: the data is whole */
    char host[FIELD_LEN];   /* MARKER: that watches since ttl_ms; or empty */
    char fact[FIELD_LEN];   /* MARKER: the field of a further entry; or empty */
};

#define FACT "on"

static const char *const verb_names[VERBS] = {
    [ACQUIRE] = "acquire",  [CONFIRM] = "confirm", [RELEASE] = "release",
    [BREAK] = "break_lock", [MARK] = "mark",       [PUT] = "value_put",
    [AHEAD] = "ahead",      [MARKER] = "marker"};

static inline void print_request(struct sim_text *text,
                                 const struct request *ask)
{
    sim_text_print(text,
                   "%s by %.33s mode %s ttl %" PRId64 " counter %" PRIu64
                   " flag %d place %" PRId64 " ticket %" PRIu64
                   " channel '%s' returned %" PRIu64
                   " back %.33s marker '%s' fresh '%s' host '%s' fact '%s'",
                   verb_names[ask->verb], ask->owner, ask->mode, ask->ttl_ms,
                   ask->counter, ask->flag, ask->place_ms, ask->ticket,
                   ask->channel, ask->returned, ask->other, ask->marker,
                   ask->fresh, ask->host, ask->fact);
}

/* ---- The scripts --------------------------------------------------------- */

static inline void lua_acquire(struct sim_text *out, struct scripts *scripts,
                               const struct request *ask, const char *marker)
{
    bool is_plain = ask->mode[0] == 'x' && !ask->flag && ask->place_ms == 0 &&
                    ask->ticket == 0 && ask->returned == 0;
    begin(out, scripts, &hf_script_acquire, is_plain ? 5 : 12);
    add(out, "%s", ask->owner);
    add(out, "%" PRId64, ask->ttl_ms);
    add(out, "%" PRIu64, ask->counter);
    add(out, "%s", marker);
    add(out, KEEP_MS);
    if (!is_plain) {
        add(out, "%s", ask->mode);
        add(out, "%d", ask->flag);
        add(out, "%" PRId64, ask->place_ms);
        add(out, "%" PRIu64, ask->ticket);
        add(out, "%s", ask->channel);
        add(out, "%u", ask->cookie);
        add(out, "%" PRIu64, ask->returned);
    }
}

static inline void lua_confirm(struct sim_text *out, struct scripts *scripts,
                               const struct request *ask, const char *marker)
{
    begin(out, scripts, &hf_script_confirm, 7);
    add(out, "%s", ask->owner);
    add(out, "%" PRId64, ask->ttl_ms);
    add(out, "%" PRIu64, ask->counter);
    add(out, "%s", marker);
    add(out, KEEP_MS);
    add(out, "%d", ask->flag);
    add(out, "%s", ask->mode);
}

static inline void lua_release(struct sim_text *out, struct scripts *scripts,
                               const struct request *ask, const char *marker)
{
    begin(out, scripts, &hf_script_release, 5);
    add(out, "%s", ask->owner);
    add(out, "%" PRIu64, ask->counter);
    add(out, "%" PRId64, ask->ttl_ms);
    add(out, KEEP_MS);
    add(out, "%s", marker);
}

static inline void lua_break(struct sim_text *out, struct scripts *scripts,
                             const struct request *ask, const char *marker)
{
    begin(out, scripts, &hf_script_break, 6);
    add(out, "%s", ask->owner);
    add(out, "%d", ask->flag);
    add(out, "%s", marker);
    add(out, KEEP_MS);
    add(out, "%d", MAX_TTL_MS);
    add(out, "%s", ask->other);
}

static inline void lua_mark(struct sim_text *out, struct scripts *scripts,
                            const struct request *ask, const char *marker)
{
    begin(out, scripts, &hf_script_mark, 4);
    add(out, "%s", marker);
    add(out, "%" PRIu64, ask->counter);
    add(out, "%" PRId64, ask->ttl_ms);
    add(out, "%s", ask->flag ? "" : ask->owner);
}

static inline void lua_put(struct sim_text *out, const struct request *ask)
{
    sim_reply_array(out, 8);
    add(out, "EVAL");
    sim_reply_bulk(out, hf_script_put.text, hf_script_put.len);
    add(out, "1");
    add(out, "hf:{" NAME "}:value");
    if (ask->ticket == 0) { /* any version */
        add(out, "%s", "");
    } else {
        add(out, "%" PRIu64, ask->counter);
    }
    add(out, "%.32s", ask->owner);
    if (ask->flag) {
        add(out, "%" PRId64, ask->ttl_ms);
    } else {
        add(out, "%s", "");
    }
    add(out, "data of %.32s", ask->owner);
}

static inline void lua_ahead(struct sim_text *out, struct scripts *scripts,
                             const struct request *ask, const char *marker)
{
    sim_reply_array(out, 11);
    add(out, "EVAL");
    add_text_of(out, scripts, &hf_script_ahead);
    add(out, "4");
    add(out, "hf:node");
    add(out, "hf:{" NAME "}:fence");
    add(out, "%s", NAME);
    add(out, "%s", ask->flag ? "hf:{" NAME "}:queue" : "none");
    add(out, "%s", ask->flag ? marker : "");
    add(out, "1");
    add(out, KEEP_MS);
    add(out, "%d", MAX_TTL_MS);
}

static inline void lua_marker(struct sim_text *out, const struct request *ask)
{
    bool has_fact = ask->fact[0] != '\0';
    sim_reply_array(out, has_fact ? 11 : 9);
    add(out, "EVAL");
    sim_reply_bulk(out, hf_script_marker.text, hf_script_marker.len);
    add(out, "1");
    add(out, "hf:node");
    add(out, "%s", ask->marker);
    add(out, "%s", ask->fresh);
    add(out, "%s", ask->flag ? "1" : "");
    add(out, "%s", ask->host);
    add(out, "%" PRId64, ask->ttl_ms);
    if (has_fact) {
        add(out, "%s", ask->fact);
        add(out, FACT);
    }
}

static inline int64_t item(const struct hf_reply *reply, size_t at)
{
    return at < reply->n ? hf_reply_integer(reply, at) : 0;
}

/* In the terms of holdfast.answer. What a script leaves out is not compared:
 * of a grant the rest, of an exclusive lock terms and sharers are 0. */
static inline void lua_print(struct sim_text *text, const struct hf_reply *r,
                             enum verb verb, bool is_embedded)
{
    if (r->items[0].type == HF_REPLY_ERROR) {
        fail_msg("%s: %s", verb_names[verb], hf_reply_text(r, 0));
    }
    if (verb == MARKER) {
        sim_text_print(text, "%" PRId64 " written", r->items[0].integer);
        return;
    }
    if (r->items[0].type == HF_REPLY_INTEGER) {
        int64_t c = r->items[0].integer;
        if (c == -1) {
            sim_text_print(text, "changed");
            return;
        }
        sim_text_print(text, "1 at %" PRId64, c);
        if (verb == ACQUIRE) {
            sim_text_print(text, " ahead 0");
        } else if (verb == CONFIRM) {
            sim_text_print(text, " floor 0 bound 0");
        }
        return;
    }
    if (verb == AHEAD) {
        sim_text_print(text, "%" PRId64 " are ahead", item(r, 1));
        return;
    }
    int64_t verdict = item(r, 1);
    sim_text_print(text, "%" PRId64 " at %" PRId64, verdict, item(r, 2));
    if (verdict != 1 || verb == BREAK || verb == MARK) {
        if (verb != PUT) {
            sim_text_print(text, " left %" PRId64 " %s", item(r, 3),
                           hf_reply_text(r, 4));
            sim_text_print(text, " terms %" PRId64 " sharers %" PRId64,
                           item(r, 9), is_embedded ? 0 : item(r, 10));
        }
    }
    if (verb == CONFIRM) {
        sim_text_print(text, " floor %" PRId64, item(r, 5));
        sim_text_print(text, " bound %" PRId64, item(r, 7));
    } else if (verdict == 2) {
        sim_text_print(text, " ticket %" PRId64 " ahead %" PRId64, item(r, 7),
                       item(r, 8));
    } else if (verb == ACQUIRE) {
        sim_text_print(text, " us %" PRId64 " ahead %" PRId64,
                       is_embedded ? 0 : item(r, 7), item(r, 8));
    }
}

/* A script that replies with a number leaves out its clock. */
static inline bool lua_is_short(const struct hf_reply *r)
{
    return r->items[0].type == HF_REPLY_INTEGER;
}

static inline void lua_ask(struct scripts *scripts, const struct request *ask)
{
    typedef void make_fn(struct sim_text * out, struct scripts * scripts,
                         const struct request *ask, const char *marker);
    static make_fn *const make[VERBS] = {
        [ACQUIRE] = lua_acquire, [CONFIRM] = lua_confirm,
        [RELEASE] = lua_release, [BREAK] = lua_break,
        [MARK] = lua_mark,       [AHEAD] = lua_ahead};
    struct sim_text text = {0};
    if (ask->verb == PUT) {
        lua_put(&text, ask);
    } else if (ask->verb == MARKER) {
        lua_marker(&text, ask);
    } else {
        make[ask->verb](&text, scripts, ask, ask->marker);
    }
    feed(scripts, &text);
}

/* ---- A database ---------------------------------------------------------- */

/* Texts of the arguments. */
struct words {
    const char *of[16];
    char data[16][OWNER_LEN + 16];
    int n;
};

__attribute__((format(printf, 2, 3))) static inline void
word(struct words *words, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(words->data[words->n], sizeof(words->data[0]), format, args);
    va_end(args);
    words->of[words->n] = words->data[words->n];
    words->n++;
}

#endif
