/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that servers executed, by their own count (INFO commandstats),
 * and the time of a round trip. Over separate connections, so that no other
 * requests wait for these. */
#ifndef HF_BENCH_COMMANDS_H
#define HF_BENCH_COMMANDS_H

#include "measure.h"
#include "wire.h"

struct commands {
    struct wire wires[SERVERS_MAX];
    int n;
};

/* Calls since the last reset, over all servers. */
struct command_count {
    int64_t sent; /* requests of clients */
    int64_t all;  /* including calls by scripts */
};

/* `list`: addresses separated by commas, or NULL for none. */
static inline void commands_open(struct commands *c, const char *list)
{
    char text[1024];
    c->n = 0;
    if (list == NULL || strlen(list) >= sizeof(text)) {
        return;
    }
    memcpy(text, list, strlen(list) + 1);
    for (char *p = strtok(text, ","); p != NULL && c->n < SERVERS_MAX;
         p = strtok(NULL, ",")) {
        wire_open(&c->wires[c->n++], p);
    }
}

static inline void commands_close(struct commands *c)
{
    for (int i = 0; i < c->n; i++) {
        wire_close(&c->wires[i]);
    }
}

static inline void commands_call(struct wire *w, const char *const *argv,
                                 struct reply *r)
{
    char out[128];
    wire_put(w, out, wire_command(out, sizeof(out), argv));
    wire_call(w, r);
    if (r->type == '-') {
        die_text(argv[0], r->text);
    }
}

static inline void commands_reset(struct commands *c)
{
    static const char *const argv[] = {"CONFIG", "RESETSTAT", NULL};
    struct reply r;
    for (int i = 0; i < c->n; i++) {
        commands_call(&c->wires[i], argv, &r);
    }
}

/* True if only a client sends this command. The library sends only scripts, so
 * all other commands were called by scripts. */
static inline bool command_is_sent(const char *name, size_t len)
{
    static const char *const sent[] = {
        "evalsha",      "eval",       "subscribe", "unsubscribe", "ssubscribe",
        "sunsubscribe", "psubscribe", "ping",      "script|load", NULL};
    for (int i = 0; sent[i] != NULL; i++) {
        if (strlen(sent[i]) == len && memcmp(sent[i], name, len) == 0) {
            return true;
        }
    }
    return false;
}

/* One line: cmdstat_NAME:calls=N,usec=… */
static inline void command_line_count(struct command_count *count,
                                      const char *line, size_t len)
{
    static const char head[] = "cmdstat_";
    static const char calls[] = ":calls=";
    const char *name = line + sizeof(head) - 1;
    const char *colon = memmem(line, len, calls, sizeof(calls) - 1);
    if (colon == NULL || memcmp(line, head, sizeof(head) - 1) != 0 ||
        memcmp(name, "config", 6) == 0 || memcmp(name, "info", 4) == 0) {
        return; /* these two are sent by this program */
    }
    int64_t n = reply_integer(colon + sizeof(calls) - 1);
    count->all += n;
    count->sent += command_is_sent(name, (size_t)(colon - name)) ? n : 0;
}

static inline struct command_count commands_read(struct commands *c)
{
    static const char *const argv[] = {"INFO", "commandstats", NULL};
    struct command_count count = {0};
    for (int i = 0; i < c->n; i++) {
        struct reply r;
        commands_call(&c->wires[i], argv, &r);
        const char *end = r.text + r.text_len;
        for (const char *p = r.text; p < end;) {
            const char *eol = memchr(p, '\n', (size_t)(end - p));
            eol = eol == NULL ? end : eol;
            command_line_count(&count, p, (size_t)(eol - p));
            p = eol + 1;
        }
    }
    return count;
}

/* Median round trip to `address` in microseconds, 0 if there is none. */
static inline double ping_us(const char *address)
{
    static const char *const argv[] = {"PING", NULL};
    struct wire wire;
    struct samples samples;
    struct reply r;
    if (address == NULL) {
        return 0;
    }
    samples_init(&samples);
    wire_open(&wire, address);
    for (int i = 0; i < 101; i++) {
        int64_t start = now_ns();
        commands_call(&wire, argv, &r);
        samples_add(&samples, now_ns() - start);
    }
    wire_close(&wire);
    samples_sort(&samples);
    double us = samples_at(&samples, 0.5);
    samples_fini(&samples);
    return us;
}

#endif
