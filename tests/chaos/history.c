/* SPDX-License-Identifier: Apache-2.0 */
#include "history.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lines --------------------------------------------------------------- */

/* Where the value of a key begins. Lines are flat, and no text in them has a
 * quote, so a plain search is enough. */
static const char *value_of(const char *line, const char *key)
{
    char quoted[40];
    snprintf(quoted, sizeof(quoted), "\"%s\":", key);
    const char *at = strstr(line, quoted);
    return at != NULL ? at + strlen(quoted) : NULL;
}

static int64_t number_of(const char *line, const char *key)
{
    const char *at = value_of(line, key);
    return at != NULL ? strtoll(at, NULL, 10) : 0;
}

static uint64_t fence_of(const char *line)
{
    const char *at = value_of(line, "fence");
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

static void text_of(const char *line, const char *key, char *out, size_t size)
{
    const char *at = value_of(line, key);
    size_t len = 0;
    if (at != NULL && *at == '"') {
        at++;
        len = strcspn(at, "\"\n");
        len = len < size ? len : size - 1;
        memcpy(out, at, len);
    }
    out[len] = '\0';
}

/* Room for one more, doubling; the new one is zero. */
static void *append(void *array, size_t *n, size_t size)
{
    char **items = array;
    if ((*n & (*n - 1)) == 0) {
        *items = realloc(*items, (*n == 0 ? 1 : *n * 2) * size);
        if (*items == NULL) {
            perror("check");
            exit(1);
        }
    }
    return memset(*items + (*n)++ * size, 0, size);
}

/* ---- Names --------------------------------------------------------------- */

static uint32_t *bucket_of(struct history *history, const char *text)
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (const char *c = text; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * 16777619U;
    }
    return &history->buckets[hash % LOCK_BUCKETS];
}

static uint32_t lock_index(struct history *history, const char *text)
{
    uint32_t *bucket = bucket_of(history, text);
    for (uint32_t i = *bucket; i > 0; i = history->locks[i - 1].next) {
        if (strcmp(history->locks[i - 1].text, text) == 0) {
            return i - 1;
        }
    }
    struct lock_name *lock =
        append(&history->locks, &history->n_locks, sizeof(*lock));
    snprintf(lock->text, sizeof(lock->text), "%s", text);
    lock->epoch = -1;
    (void)sscanf(text, "e%d.", &lock->epoch);
    lock->first = NEVER;
    lock->next = *bucket;
    *bucket = (uint32_t)history->n_locks;
    return *bucket - 1;
}

static struct client *client_named(struct history *history, const char *name)
{
    for (size_t i = 0; i < history->n_clients; i++) {
        if (strcmp(history->clients[i].name, name) == 0) {
            return &history->clients[i];
        }
    }
    struct client *client =
        append(&history->clients, &history->n_clients, sizeof(*client));
    snprintf(client->name, sizeof(client->name), "%s", name);
    client->up = NEVER;
    client->down = NEVER;
    return client;
}

/* ---- Clients ------------------------------------------------------------- */

static enum outcome outcome_of(const char *status)
{
    if (strcmp(status, "HF_BUSY") == 0) {
        return OUTCOME_BUSY;
    }
    if (strcmp(status, "HF_UNAVAILABLE") == 0 ||
        strcmp(status, "HF_QUARANTINED") == 0) {
        return OUTCOME_UNAVAILABLE;
    }
    return OUTCOME_FAILED;
}

static void read_begin(struct history *history, uint32_t client,
                       const char *line, int64_t t)
{
    char name[64];
    char mode[4];
    text_of(line, "lock", name, sizeof(name));
    text_of(line, "mode", mode, sizeof(mode));
    uint32_t lock = lock_index(history, name);
    struct hold *hold =
        append(&history->holds, &history->n_holds, sizeof(*hold));
    hold->lock = lock;
    hold->client = client;
    hold->attempt = (uint32_t)number_of(line, "a");
    hold->limit = (uint32_t)number_of(line, "limit");
    hold->mode = mode[0];
    hold->slot = -1;
    hold->begin = t;
    hold->end = NEVER;
    if (t < history->locks[lock].first) {
        history->locks[lock].first = t;
    }
}

static void read_ok(struct history *history, struct hold *hold,
                    const char *line, int64_t t)
{
    hold->outcome = OUTCOME_HELD;
    hold->ok = t;
    hold->fence = fence_of(line);
    hold->slot = (int)number_of(line, "slot");
    hold->promise = t + number_of(line, "left") * 1000000;
    if (hold->mode == 'p') { /* each permit is a separate lock */
        char name[80];
        snprintf(name, sizeof(name), "%s#%d", history->locks[hold->lock].text,
                 hold->slot);
        hold->lock = lock_index(history, name);
        struct lock_name *lock = &history->locks[hold->lock];
        lock->first = hold->begin < lock->first ? hold->begin : lock->first;
    }
}

static void read_end(struct hold *hold, int64_t t)
{
    hold->end = t < hold->end ? t : hold->end;
}

/* The lines after a "begin" of the same attempt. */
static bool read_rest(struct history *history, struct hold *hold,
                      const char *event, const char *line, int64_t t)
{
    char status[32];
    text_of(line, "status", status, sizeof(status));
    if (strcmp(event, "ok") == 0) {
        read_ok(history, hold, line, t);
    } else if (strcmp(event, "fail") == 0) {
        hold->outcome = outcome_of(status);
    } else if (strcmp(event, "obs") == 0) {
        int64_t promise = t + number_of(line, "left") * 1000000;
        hold->promise = promise > hold->promise ? promise : hold->promise;
    } else if (strcmp(event, "lost") == 0) {
        hold->is_lost = true;
        read_end(hold, t);
    } else if (strcmp(event, "release") == 0) {
        read_end(hold, t);
    } else if (strcmp(event, "released") == 0) {
        hold->is_lost = hold->is_lost || strcmp(status, "HF_LOST") == 0;
    } else {
        return strcmp(event, "extended") == 0;
    }
    return true;
}

/* The hold that an event is about: the last one of the client, that began at
 * `first`. A loss may be that of an earlier one, since a callback runs in
 * another thread, and one that has begun may end after the release.
 * @return NULL: there is none. */
static struct hold *hold_of(const struct history *history, size_t first,
                            const char *event, uint32_t attempt)
{
    size_t i = history->n_holds;
    bool is_loss = strcmp(event, "lost") == 0;
    while (is_loss && i > first && history->holds[i - 1].attempt > attempt) {
        i--;
    }
    bool is_found = i > first && history->holds[i - 1].attempt == attempt;
    return is_found ? &history->holds[i - 1] : NULL;
}

static void read_client(struct history *history, const char *path,
                        const char *name)
{
    static char line[2048];
    uint32_t client =
        (uint32_t)(client_named(history, name) - history->clients);
    size_t first = history->n_holds;
    int64_t last = 0;
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char event[16];
        int64_t t = number_of(line, "t");
        text_of(line, "ev", event, sizeof(event));
        struct hold *hold =
            hold_of(history, first, event, (uint32_t)number_of(line, "a"));
        bool is_fine = true;
        if (strcmp(event, "begin") == 0) {
            read_begin(history, client, line, t);
        } else if (strcmp(event, "end") != 0) {
            is_fine = hold != NULL && read_rest(history, hold, event, line, t);
        }
        if (strcmp(event, "lost") != 0) {
            is_fine = is_fine && t >= last;
            last = t;
        }
        history->n_bad_lines += !is_fine;
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* ---- Register and nemesis ------------------------------------------------ */

static void read_access(struct history *history, const char *line)
{
    char name[80];
    char kind[4];
    char event[16];
    text_of(line, "lock", name, sizeof(name));
    text_of(line, "kind", kind, sizeof(kind));
    text_of(line, "ev", event, sizeof(event));
    uint32_t lock = lock_index(history, name);
    struct access *access =
        append(&history->accesses, &history->n_accesses, sizeof(*access));
    *access = (struct access){.t = number_of(line, "t"),
                              .lock = lock,
                              .writes = strcmp(event, "write") == 0,
                              .is_guarded = kind[0] == 'g',
                              .is_accepted = number_of(line, "ok") != 0,
                              .fence = fence_of(line),
                              .base = number_of(line, "base"),
                              .value = number_of(line, "value")};
}

static void read_fault_on(struct history *history, const char *line, int64_t t)
{
    struct fault *fault =
        append(&history->faults, &history->n_faults, sizeof(*fault));
    text_of(line, "fault", fault->name, sizeof(fault->name));
    fault->epoch = (int)number_of(line, "epoch");
    fault->keeps_exclusion = number_of(line, "exclusion") != 0;
    fault->keeps_order = number_of(line, "order") != 0;
    fault->on = t;
    fault->off = NEVER;
    struct heal *heal =
        history->n_heals > 0 ? &history->heals[history->n_heals - 1] : NULL;
    if (heal != NULL && heal->next == NEVER) {
        heal->next = t;
    }
}

static void read_fault_off(struct history *history, const char *line, int64_t t)
{
    char name[32];
    text_of(line, "fault", name, sizeof(name));
    for (size_t i = history->n_faults; i-- > 0;) {
        struct fault *fault = &history->faults[i];
        if (strcmp(fault->name, name) == 0) {
            fault->off = t;
            return;
        }
    }
}

static void read_deed(struct history *history, const char *line)
{
    char event[16];
    char name[32];
    int64_t t = number_of(line, "t");
    text_of(line, "ev", event, sizeof(event));
    text_of(line, "client", name, sizeof(name));
    if (history->begin == 0) {
        history->begin = t;
    }
    if (strcmp(event, "up") == 0) {
        client_named(history, name)->up = t;
    } else if (strcmp(event, "down") == 0) {
        client_named(history, name)->down = t;
    } else if (strcmp(event, "on") == 0) {
        read_fault_on(history, line, t);
    } else if (strcmp(event, "off") == 0) {
        read_fault_off(history, line, t);
    } else if (strcmp(event, "heal") == 0) {
        struct heal *heal =
            append(&history->heals, &history->n_heals, sizeof(*heal));
        *heal = (struct heal){
            .t = t, .next = NEVER, .epoch = (int)number_of(line, "epoch")};
    } else if (strcmp(event, "stop") == 0) {
        history->stop = t;
    } else {
        history->n_bad_lines++;
    }
}

static void read_lines(struct history *history, const char *path,
                       void (*read)(struct history *, const char *))
{
    static char line[2048];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "check: %s: %s\n", path, strerror(errno));
        exit(1);
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        read(history, line);
    }
    fclose(file);
}

/* ---- All of it
 * --------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
    int64_t left = ((const struct hold *)a)->begin;
    int64_t right = ((const struct hold *)b)->begin;
    return left < right ? -1 : left > right;
}

static void finish(struct history *history)
{
    if (history->stop == 0) {
        history->stop = NEVER;
    }
    if (history->n_heals > 0) {
        struct heal *last = &history->heals[history->n_heals - 1];
        last->next = last->next < history->stop ? last->next : history->stop;
    }
    for (size_t i = 0; i < history->n_holds; i++) {
        struct hold *hold = &history->holds[i];
        hold->until = hold->promise < hold->end ? hold->promise : hold->end;
    }
    if (history->n_holds > 0) {
        qsort(history->holds, history->n_holds, sizeof(*history->holds),
              by_begin);
    }
}

void history_read(struct history *history, const char *folder)
{
    char path[4096];
    memset(history, 0, sizeof(*history));
    snprintf(path, sizeof(path), "%s/nemesis.jsonl", folder);
    read_lines(history, path, read_deed);
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        size_t len = strlen(entry->d_name);
        if (entry->d_name[0] != 'c' || len < 7 || len > 30 ||
            strcmp(entry->d_name + len - 6, ".jsonl") != 0) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        entry->d_name[len - 6] = '\0';
        read_client(history, path, entry->d_name);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    snprintf(path, sizeof(path), "%s/register.jsonl", folder);
    read_lines(history, path, read_access);
    finish(history);
}

void history_free(struct history *history)
{
    free(history->holds);
    free(history->accesses);
    free(history->faults);
    free(history->heals);
    free(history->clients);
    free(history->locks);
    memset(history, 0, sizeof(*history));
}
