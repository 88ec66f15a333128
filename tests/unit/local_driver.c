/* SPDX-License-Identifier: Apache-2.0 */
#include "local_driver.h"

#include "io/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void note_seats(struct driver *d, const struct hf_answer *answer)
{
    size_t used = 0;
    d->seats[0] = '\0';
    for (size_t i = 0; i < answer->n_seats; i++) {
        const struct hf_seat *seat = &answer->seats[i];
        char terms[12] = "x";
        if (seat->is_shared) {
            snprintf(terms, sizeof(terms), "s%u", (unsigned)seat->permits);
        }
        if (used + 24 < sizeof(d->seats)) {
            used += (size_t)snprintf(d->seats + used, 24, "%c%s%c\n",
                                     seat->waits ? 'w' : 'h', terms,
                                     *(const char *)seat->owner);
        }
    }
}

static void on_push(void *client, unsigned node, uint64_t cookie,
                    uint64_t counter)
{
    struct driver *d = client;
    (void)node;
    if (d->n_pushes < DRIVER_PUSHES_MAX) {
        d->pushes[d->n_pushes] = (struct driver_push){cookie, counter};
    }
    d->n_pushes++;
}

static void on_listen(void *client, unsigned node, bool is_listening)
{
    struct driver *d = client;
    (void)node;
    d->is_listening = is_listening;
}

static void note_value(struct driver *d, const struct hf_answer *answer)
{
    const char *data = answer->value.data;
    d->value_len = data == NULL ? 0 : answer->value.len;
    d->value_first = d->value_len > 0 ? data[0] : '\0';
    d->value_is_whole = true;
    for (size_t i = 0; i < d->value_len; i++) {
        d->value_is_whole &= data[i] == data[0];
    }
}

static void on_answer(void *client, const struct hf_answer *answer)
{
    struct driver *d = client;
    d->n_answers++;
    d->answer = *answer;
    if (answer->owner != NULL) {
        memcpy(d->owner, answer->owner, answer->owner_len);
        d->owner[answer->owner_len] = '\0';
        d->answer.owner = d->owner;
    }
    if (answer->reason != NULL) {
        snprintf(d->reason, sizeof(d->reason), "%s", answer->reason);
        d->answer.reason = d->reason;
    }
    note_seats(d, answer);
    note_value(d, answer);
    size_t used = 0;
    d->n_names = (unsigned)answer->n_names;
    d->names[0] = '\0';
    for (size_t i = 0; i < answer->n_names; i++) {
        size_t len = answer->names[i].len;
        if (used + len + 2 < sizeof(d->names)) {
            memcpy(d->names + used, answer->names[i].data, len);
            d->names[used + len] = '\n';
            d->names[used + len + 1] = '\0';
            used += len + 1;
        }
    }
}

static void on_status(void *client, unsigned node, enum hf_node_status status,
                      bool is_reset, enum hf_status fault, const char *reason)
{
    struct driver *d = client;
    (void)node;
    (void)is_reset;
    (void)fault;
    (void)reason;
    d->is_voting = status == HF_NODE_STATUS_VOTING;
}

static void on_log(void *client, enum hf_log_level level, const char *text)
{
    (void)client;
    (void)level;
    (void)text;
}

void folder_make(char path[64])
{
    snprintf(path, 64, "/tmp/hf-local-XXXXXX");
    if (mkdtemp(path) == NULL || chmod(path, 0755) != 0) {
        abort();
    }
}

void folder_drop(const char *path)
{
    static const char *const files[] = {"locks.gate", "locks.mdb",
                                        "values.mdb"};
    char name[200];
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s/%s", path, files[i]);
        unlink(name);
    }
    rmdir(path);
}

static bool read_stat(int pid, char text[400])
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    bool has_line = fgets(text, 400, file) != NULL;
    fclose(file);
    return has_line;
}

bool process_is_alive(int pid)
{
    char text[400];
    return read_stat(pid, text) && strstr(text, ") Z") == NULL &&
           strstr(text, ") X") == NULL;
}

bool main_thread_ends(int pid)
{
    char text[400];
    bool has_ended = false, is_there = true;
    for (int i = 0; i < 5000 && is_there && !has_ended; i++) {
        usleep(1000);
        is_there = read_stat(pid, text);
        has_ended = is_there && strstr(text, ") Z") != NULL;
    }
    return has_ended;
}

static enum hf_status open_as(struct driver *d, const char *folder,
                              const char *query, int64_t keep_ms,
                              bool is_for_setup, struct hf_error *error)
{
    char text[4200];
    memset(d, 0, sizeof(*d));
    snprintf(text, sizeof(text), "local://%s%s", folder, query);
    enum hf_status status = hf_url_parse(text, NULL, &d->url, error);
    if (status != HF_OK) {
        return status;
    }
    d->url->fence_keep_ms = keep_ms > 0 ? keep_ms : d->url->fence_keep_ms;
    d->loop = hf_loop_new();
    struct hf_store_env env = {
        .client = d,
        .loop = d->loop,
        .answer = on_answer,
        .status = on_status,
        .push = on_push,
        .listen = on_listen,
        .log = on_log,
        .is_for_setup = is_for_setup,
    };
    status = hf_store_local.open(d->url, &env, &d->store, error);
    if (status != HF_OK) {
        driver_close(d);
    }
    return status;
}

enum hf_status driver_open(struct driver *d, const char *folder,
                           const char *query, struct hf_error *error)
{
    return open_as(d, folder, query, 0, false, error);
}

enum hf_status driver_open_keeping(struct driver *d, const char *folder,
                                   const char *query, int64_t keep_ms)
{
    struct hf_error error;
    return open_as(d, folder, query, keep_ms, false, &error);
}

enum hf_status driver_open_for_setup(struct driver *d, const char *folder,
                                     struct hf_error *error)
{
    return open_as(d, folder, "", 0, true, error);
}

/* On a loaded machine a process may not run while it has the gate: wait longer
 * than the default of 50 ms. */
void driver_start(struct driver *d, const char *folder)
{
    struct hf_error error;
    if (driver_open(d, folder, "?node_timeout=10s", &error) != HF_OK) {
        fprintf(stderr, "# %s\n", error.text);
        abort();
    }
}

void driver_close(struct driver *d)
{
    if (d->store != NULL) {
        d->store->ops->close(d->store, false);
    }
    hf_loop_free(d->loop);
    hf_url_free(d->url);
    d->store = NULL;
    d->loop = NULL;
    d->url = NULL;
}

const struct hf_answer *driver_ask(struct driver *d, const struct hf_ask *ask)
{
    unsigned before = d->n_answers;
    d->store->ops->ask(d->store, ask, hf_clock_now());
    if (d->n_answers != before + 1) {
        abort(); /* exactly one reply, at once */
    }
    return &d->answer;
}

static struct hf_ask ask_for(enum hf_verb verb, const char *name,
                             const char *owner)
{
    return (struct hf_ask){
        .cookie = 7,
        .verb = verb,
        .name = name,
        .name_len = name == NULL ? 0 : strlen(name),
        .owner = owner,
        .owner_len = owner == NULL ? 0 : strlen(owner),
    };
}

const struct hf_answer *acquire(struct driver *d, const char *name,
                                const char *owner, int64_t ttl_ms,
                                int64_t life_pid)
{
    struct hf_life_set life = {life_pid == 0 ? 0U : 1U, {life_pid}};
    struct hf_ask ask = ask_for(HF_VERB_ACQUIRE, name, owner);
    ask.ttl_ms = ttl_ms;
    ask.life = &life;
    return driver_ask(d, &ask);
}

const struct hf_answer *confirm(struct driver *d, const char *name,
                                const char *owner, uint64_t fence,
                                int64_t ttl_ms, bool reacquires)
{
    struct hf_ask ask = ask_for(HF_VERB_CONFIRM, name, owner);
    ask.ttl_ms = ttl_ms;
    ask.counter = fence;
    ask.reacquires = reacquires;
    return driver_ask(d, &ask);
}

const struct hf_answer *release(struct driver *d, const char *name,
                                const char *owner, uint64_t largest,
                                int64_t keep_ms)
{
    struct hf_ask ask = ask_for(HF_VERB_RELEASE, name, owner);
    ask.ttl_ms = keep_ms;
    ask.counter = largest;
    return driver_ask(d, &ask);
}

const struct hf_answer *break_name(struct driver *d, const char *name,
                                   const char *owner, bool now)
{
    struct hf_ask ask = ask_for(HF_VERB_BREAK, name, owner);
    ask.frees_now = now;
    return driver_ask(d, &ask);
}

const struct hf_answer *break_back(struct driver *d, const char *name,
                                   const char *owner, const char *back)
{
    struct hf_ask ask = ask_for(HF_VERB_BREAK, name, owner);
    ask.back = back;
    ask.back_len = strlen(back);
    return driver_ask(d, &ask);
}

struct hf_ask queue_ask(const char *name, const char *owner, int64_t queue_ms)
{
    struct hf_ask ask = ask_for(HF_VERB_ACQUIRE, name, owner);
    ask.cookie = (uint64_t)owner[0] << 32 | strtoul(owner + 1, NULL, 10);
    ask.ttl_ms = 20000;
    ask.queue_ms = queue_ms;
    return ask;
}

const struct hf_answer *queue(struct driver *d, const char *name,
                              const char *owner, int64_t queue_ms)
{
    struct hf_ask ask = queue_ask(name, owner, queue_ms);
    return driver_ask(d, &ask);
}

const struct hf_answer *queue_shared(struct driver *d, const char *name,
                                     const char *owner, int64_t queue_ms,
                                     uint16_t permits)
{
    struct hf_ask ask = queue_ask(name, owner, queue_ms);
    ask.is_shared = true;
    ask.permits = permits;
    return driver_ask(d, &ask);
}

const struct hf_answer *share(struct driver *d, const char *name,
                              const char *owner, uint16_t permits)
{
    return queue_shared(d, name, owner, 0, permits);
}

const struct hf_answer *yield(struct driver *d, const char *name,
                              const char *owner, uint64_t counter,
                              uint64_t ticket, int64_t queue_ms)
{
    struct hf_ask ask = queue_ask(name, owner, queue_ms);
    ask.verb = HF_VERB_YIELD;
    ask.counter = counter;
    ask.ticket = ticket;
    return driver_ask(d, &ask);
}

const struct hf_answer *queue_entries(struct driver *d, const char *name)
{
    struct hf_ask ask = ask_for(HF_VERB_QUEUE, name, NULL);
    return driver_ask(d, &ask);
}

void driver_turn(struct driver *d)
{
    hf_loop_wait(d->loop, HF_LONG_AGO);
    hf_loop_dispatch(d->loop, hf_clock_now());
}

bool driver_hear(struct driver *d, unsigned n_pushes)
{
    struct hf_instant end = hf_instant_add(hf_clock_now(), hf_span_ms(20000));
    while (d->n_pushes < n_pushes && hf_instant_before(hf_clock_now(), end)) {
        hf_loop_wait(d->loop, hf_instant_min(end, hf_loop_next_timer(d->loop)));
        hf_loop_dispatch(d->loop, hf_clock_now());
    }
    return d->n_pushes >= n_pushes;
}

void driver_forget(struct driver *d)
{
    d->n_pushes = 0;
}

const struct hf_answer *inspect(struct driver *d, const char *name)
{
    struct hf_ask ask = ask_for(HF_VERB_INSPECT, name, NULL);
    return driver_ask(d, &ask);
}

const struct hf_answer *mark(struct driver *d, const char *name, uint64_t fence,
                             const char *owner, int64_t ms)
{
    struct hf_ask ask = ask_for(HF_VERB_MARK, name, owner);
    ask.counter = fence;
    ask.ttl_ms = ms;
    return driver_ask(d, &ask);
}

const struct hf_answer *scan(struct driver *d, const char *pattern)
{
    struct hf_ask ask = ask_for(HF_VERB_SCAN, pattern, NULL);
    return driver_ask(d, &ask);
}
