/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the chaos rig: takes a lock, adds one to what it protects, gives
 * it back, until SIGTERM; and writes down what it saw.
 *
 *     client ID URL REGISTER-SOCKET EPOCH-FILE JOURNAL TTL_MS SEED
 *
 *     begin     before the call              a lock mode limit wait
 *     ok        after it                     fence slot left
 *     fail      after it                     status text
 *     obs       "it is mine for LEFT ms": the clock was read before asking
 *     extended  after the call               status
 *     lost      told by the library, or seen
 *     release   before the call    released  after it: status
 *
 * A begin without an end is a process that was killed: unknown, not failed.
 * Names begin with the number in EPOCH-FILE, so that no round of faults
 * inherits the counters of another. */
#include "journal.h"
#include "load.h"
#include "protected.h"

#include <holdfast/holdfast.h>

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PERMITS 2 /* of "sem": the fewest that two clients can hold */

struct options {
    const char *id;
    const char *url;
    const char *register_path;
    const char *epoch_path;
    const char *journal_path;
    int64_t ttl_ms;
};

struct attempt {
    uint32_t number;
    char name[64];
    char guarded[72]; /* a permit is a lock of its own: NAME#SLOT */
    char mode;        /* x, s, p: exclusive, shared, permit */
    bool is_long;
    uint64_t fence;
};

static struct options options;
static struct hf_client *client;
static volatile sig_atomic_t is_ending;

static void end(int signal)
{
    (void)signal;
    is_ending = 1;
    if (client != NULL) {
        hf_client_interrupt(client);
    }
}

/* ---- The register ------------------------------------------------------- */

static int64_t read_register(char kind, const struct attempt *attempt)
{
    return register_read(kind, attempt->guarded, attempt->fence);
}

static void write_register(char kind, const struct attempt *attempt,
                           int64_t base)
{
    register_write(kind, attempt->guarded, attempt->fence, base);
}

/* ---- Holding ------------------------------------------------------------ */

static void on_state(void *user, struct hf_lock *lock, enum hf_state state)
{
    (void)user;
    /* not the attempt: by now this may be the next one */
    unsigned number = (unsigned)(uintptr_t)hf_lock_user(lock);
    if (state == HF_STATE_LOST) {
        journal(journal_now(), "\"ev\":\"lost\",\"a\":%u", number);
    }
}

/* Whether the client may continue. It checks its lease here and writes later:
 * the fence protects the time in between. */
static bool is_mine(struct hf_lock *lock, const struct attempt *attempt)
{
    int64_t t = journal_now();
    int64_t left = hf_lock_remaining_ms(lock);
    if (!hf_lock_valid_for(lock, 20)) {
        return false;
    }
    journal(t, "\"ev\":\"obs\",\"a\":%u,\"left\":%" PRId64, attempt->number,
            left);
    return true;
}

/* Mostly short: the faults in between are what the test is about. */
static void think(void)
{
    rest(draw(4) == 0 ? draw(60000) : draw(8000));
}

static void add_one(const struct attempt *attempt)
{
    int64_t guarded = read_register('g', attempt);
    int64_t unguarded = read_register('u', attempt);
    think();
    if (guarded >= 0) {
        write_register('g', attempt, guarded);
    }
    write_register('u', attempt, unguarded);
}

/* Often longer than the lease, so that it must be renewed. */
static void hold_long(struct hf_lock *lock, const struct attempt *attempt)
{
    int64_t until = journal_now() + options.ttl_ms * (300000 + draw(1200000));
    while (journal_now() < until && !is_ending && is_mine(lock, attempt)) {
        rest(25000);
    }
}

static void work(struct hf_lock *lock, const struct attempt *attempt)
{
    if (attempt->is_long) {
        hold_long(lock, attempt);
    }
    if (draw(8) == 0) {
        enum hf_status status = hf_lock_extend(lock, 0, NULL);
        journal(journal_now(), "\"ev\":\"extended\",\"a\":%u,\"status\":\"%s\"",
                attempt->number, hf_status_name(status));
    }
    for (uint32_t i = 1 + draw(3); i > 0 && is_mine(lock, attempt); i--) {
        if (attempt->mode == 's') {
            think();
        } else {
            add_one(attempt);
        }
    }
}

static void give_back(struct hf_lock *lock, const struct attempt *attempt)
{
    if (hf_lock_state(lock) == HF_STATE_LOST) {
        journal(journal_now(), "\"ev\":\"lost\",\"a\":%u", attempt->number);
    }
    journal(journal_now(), "\"ev\":\"release\",\"a\":%u", attempt->number);
    enum hf_status status = hf_lock_release(lock);
    journal(journal_now(), "\"ev\":\"released\",\"a\":%u,\"status\":\"%s\"",
            attempt->number, hf_status_name(status));
}

/* ---- Taking -------------------------------------------------------------- */

static int read_epoch(void)
{
    int epoch = 0;
    FILE *file = fopen(options.epoch_path, "r");
    if (file == NULL || fscanf(file, "%d", &epoch) != 1) {
        perror(options.epoch_path);
        exit(1);
    }
    fclose(file);
    return epoch;
}

/* "long" is held nearly always, so that each fault meets a holder. */
static const char *const names[20] = {
    "x0", "x0", "x0", "x0", "x0", "x0",  "x0",  "x0",  "x1",  "x1",
    "x1", "rw", "rw", "rw", "rw", "sem", "sem", "sem", "sem", "long"};

static void choose(struct attempt *attempt, struct hf_request *request)
{
    int epoch = read_epoch();
    uint32_t which = draw(20);
    const char *name = names[which];
    bool is_shared = strcmp(name, "rw") == 0 && draw(3) > 0;
    attempt->number++;
    attempt->mode = is_shared ? 's' : strcmp(name, "sem") == 0 ? 'p' : 'x';
    attempt->is_long = strcmp(name, "long") == 0 || draw(60) == 0;
    snprintf(attempt->name, sizeof(attempt->name), "e%d.%s", epoch, name);
    hf_request_init(request, attempt->name);
    request->ttl_ms = options.ttl_ms;
    request->wait_ms = draw(2) == 0 ? 0 : (int64_t)draw(1500);
    request->mode = is_shared ? HF_SHARED : HF_EXCLUSIVE;
    request->permits = attempt->mode == 'p' ? PERMITS : 0;
    request->user = (void *)(uintptr_t)attempt->number;
}

static void hold(struct hf_lock *lock, struct attempt *attempt)
{
    int64_t t = journal_now();
    int64_t left = hf_lock_remaining_ms(lock);
    int slot = hf_lock_slot(lock);
    attempt->fence = hf_lock_fence(lock);
    journal(t,
            "\"ev\":\"ok\",\"a\":%u,\"fence\":%" PRIu64
            ",\"slot\":%d,\"left\":%" PRId64,
            attempt->number, attempt->fence, slot, left);
    snprintf(attempt->guarded, sizeof(attempt->guarded),
             slot < 0 ? "%s" : "%s#%d", attempt->name, slot);
    work(lock, attempt);
    give_back(lock, attempt);
}

static void turn(struct attempt *attempt)
{
    struct hf_request request;
    struct hf_lock *lock;
    struct hf_error error = {0};
    choose(attempt, &request);
    journal(journal_now(),
            "\"ev\":\"begin\",\"a\":%u,\"lock\":\"%s\",\"mode\":\"%c\","
            "\"limit\":%u,\"wait\":%" PRId64,
            attempt->number, attempt->name, attempt->mode, request.permits,
            request.wait_ms);
    enum hf_status status = hf_lock_acquire(client, &request, &lock, &error);
    if (status == HF_OK) {
        hold(lock, attempt);
        return;
    }
    for (char *c = error.text; *c != '\0'; c++) {
        *c = *c == '"' || *c == '\\' || (unsigned char)*c < ' ' ? '\'' : *c;
    }
    journal(journal_now(),
            "\"ev\":\"fail\",\"a\":%u,\"status\":\"%s\",\"text\":\"%.300s\"",
            attempt->number, hf_status_name(status), error.text);
}

static void client_open(void)
{
    struct hf_client_options how;
    struct hf_error error = {0};
    hf_client_options_init(&how);
    how.on_state = on_state;
    if (hf_client_open(options.url, &how, &client, &error) != HF_OK) {
        fprintf(stderr, "%s: %s\n", options.id, error.text);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 8) {
        fprintf(stderr, "usage: client ID URL REGISTER EPOCH JOURNAL TTL_MS "
                        "SEED\n");
        return 64;
    }
    options = (struct options){.id = argv[1],
                               .url = argv[2],
                               .register_path = argv[3],
                               .epoch_path = argv[4],
                               .journal_path = argv[5],
                               .ttl_ms = strtol(argv[6], NULL, 10)};
    load_seed((uint32_t)strtoul(argv[7], NULL, 10));
    struct sigaction action = {.sa_handler = end, .sa_flags = SA_RESTART};
    sigaction(SIGTERM, &action, NULL);
    journal_open(options.journal_path);
    register_open(options.register_path, options.id);
    client_open();
    struct attempt attempt = {0};
    while (!is_ending) {
        turn(&attempt);
        rest(1000 + draw(15000));
    }
    hf_client_close(client);
    journal(journal_now(), "\"ev\":\"end\"");
    return 0;
}
