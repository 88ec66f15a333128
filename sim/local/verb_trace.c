/* SPDX-License-Identifier: Apache-2.0 */
/* REPORTS OF REQUESTS. Each verb of the embedded store is followed from its
 * verb_txn to the end of the transaction: a commit, or an end without a change.
 * Then it is reported to the oracle in the same form as a script that a server
 * has executed (redis.h), so that one set of rules judges both. */
#include "local/machine.h"
#include "local/machine_parts.h"

#include "redis/redis.h"

#include "store/local/local.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "lock:"

/* EVALSHA, hash, number of keys, the lock's key, other keys, arguments. A mark
 * has one key more. */
#define LOCK_KEY 3
#define ARG(n) (9 + (n))
#define MARK_ARG(n) (10 + (n))
#define ARGS 15

static const char *const scripts[] = {
    [HF_VERB_ACQUIRE] = "acquire", [HF_VERB_YIELD] = "acquire",
    [HF_VERB_CONFIRM] = "confirm", [HF_VERB_RELEASE] = "release",
    [HF_VERB_BREAK] = "break",     [HF_VERB_INSPECT] = "inspect",
    [HF_VERB_MARK] = "mark",       [HF_VERB_QUEUE] = "list",
};

/* A request in the form of a script's run. */
struct form {
    char key[24];
    char owner[HF_OWNER_MAX + 1];
    char first[24], second[24];
    char reply[HF_RECORD_OWNER_MAX + 128];
    struct sim_arg argv[ARGS];
};

static struct sim_arg arg_of(const char *text)
{
    return (struct sim_arg){text, strlen(text)};
}

static void form_args(struct form *form, const struct hf_ask *ask)
{
    bool is_mark = ask->verb == HF_VERB_MARK;
    for (int i = 0; i < ARGS; i++) {
        form->argv[i] = arg_of("");
    }
    snprintf(form->key, sizeof(form->key), PREFIX "%.*s", (int)ask->name_len,
             (const char *)ask->name);
    memcpy(form->owner, ask->owner == NULL ? "" : ask->owner, ask->owner_len);
    form->owner[ask->owner_len] = '\0';
    form->argv[LOCK_KEY] = arg_of(form->key);
    if (is_mark) {
        snprintf(form->first, sizeof(form->first), "%" PRIu64, ask->counter);
        snprintf(form->second, sizeof(form->second), "%" PRId64, ask->ttl_ms);
        form->argv[MARK_ARG(2)] = arg_of(form->first);
        form->argv[MARK_ARG(3)] = arg_of(form->second);
        form->argv[MARK_ARG(4)] = arg_of(form->owner);
        return;
    }
    if (ask->verb == HF_VERB_BREAK) {
        snprintf(form->first, sizeof(form->first), "%d",
                 ask->frees_now ? 1 : 0);
    } else {
        snprintf(form->first, sizeof(form->first), "%" PRId64, ask->ttl_ms);
    }
    form->argv[ARG(1)] = arg_of(form->owner);
    form->argv[ARG(2)] = arg_of(form->first);
}

static void form_reply(struct form *form, const struct hf_result *deed)
{
    int verdict = deed->verdict == HF_VERDICT_OK       ? 1
                  : deed->verdict == HF_VERDICT_QUEUED ? 2
                                                       : 0;
    if (deed->verdict == HF_VERDICT_ERROR) {
        snprintf(form->reply, sizeof(form->reply), "-ERR");
        return;
    }
    snprintf(form->reply, sizeof(form->reply),
             "*4\r\n:%d\r\n:%" PRIu64 "\r\n:%" PRId64 "\r\n$%u\r\n%.*s",
             verdict, deed->counter, deed->left_ms, (unsigned)deed->owner_len,
             (int)deed->owner_len, deed->owner);
}

/* Report a request; here the request and its reply are one step. */
static void tell(const struct sim_task *task, const struct sim_run *run)
{
    struct sim_world *world = task->machine->world;
    struct sim_oracle *oracle = world->oracle;
    struct sim_link link = {
        .world = world,
        .process = task->process,
        .peer = task->process->index,
        .node = &world->nodes[0],
        .sent_ns = world->now_ns,
        .down_sent = 1,
        .down_read = 1,
    };
    sim_oracle_executed(oracle, 0, run);
    sim_oracle_script(oracle, &link, run);
    sim_oracle_wrote(oracle, &link);
    sim_oracle_read(oracle, &link);
    sim_oracle_asked(oracle, 0, run);
}

void sim_verb_done(struct sim_task *task, bool has_written)
{
    const struct hf_txn *verb_txn = task->verb_txn;
    task->verb_txn = NULL;
    if (task->only_reads && has_written) {
        sim_oracle_breach(task->machine->world->oracle, SIM_READ,
                          "p%d has changed the folder by a call that is to "
                          "change nothing",
                          task->process->index + 1);
    }
    bool is_void = verb_txn == NULL || verb_txn->number != 0 ||
                   (verb_txn->is_changed && !has_written);
    if (is_void || verb_txn->ask == NULL) {
        return;
    }
    struct form form;
    form_args(&form, verb_txn->ask);
    form_reply(&form, &verb_txn->result);
    tell(task, &(struct sim_run){.script = scripts[verb_txn->ask->verb],
                                 .argc = ARGS,
                                 .argv = form.argv,
                                 .reply = form.reply,
                                 .reply_len = strlen(form.reply),
                                 .has_written = has_written});
}

void sim_verb_failed(const struct sim_task *task)
{
    const struct hf_ask *ask =
        task->verb_txn == NULL ? NULL : task->verb_txn->ask;
    if (ask != NULL && ask->verb == HF_VERB_RELEASE) {
        struct sim_arg owner = {ask->owner, ask->owner_len};
        sim_prompt_kept(task->machine->world->oracle, &owner);
    }
}

/* ---- Where the store begins a request ----------------------------------- */

static void note_visit(const struct hf_txn *verb_txn)
{
    struct sim_task *task = sim_task_running();
    if (task != NULL) {
        task->verb_txn = verb_txn;
    }
}

#define FOLLOW(verb)                                                           \
    void __real_hf_txn_##verb(struct hf_txn *verb_txn);                        \
    void __wrap_hf_txn_##verb(struct hf_txn *verb_txn);                        \
    void __wrap_hf_txn_##verb(struct hf_txn *verb_txn)                         \
    {                                                                          \
        note_visit(verb_txn);                                                  \
        __real_hf_txn_##verb(verb_txn);                                        \
    }

FOLLOW(acquire)
FOLLOW(yield)
FOLLOW(confirm)
FOLLOW(release)
FOLLOW(break)
FOLLOW(inspect)
FOLLOW(mark)

static void set_only_reads(bool only_reads)
{
    struct sim_task *task = sim_task_running();
    if (task != NULL) {
        task->only_reads = only_reads;
    }
}

#define FOLLOW_READ(call)                                                      \
    void __real_hf_local_##call(struct hf_local *local,                        \
                                const struct hf_ask *ask,                      \
                                struct hf_instant now);                        \
    void __wrap_hf_local_##call(struct hf_local *local,                        \
                                const struct hf_ask *ask,                      \
                                struct hf_instant now);                        \
    void __wrap_hf_local_##call(struct hf_local *local,                        \
                                const struct hf_ask *ask,                      \
                                struct hf_instant now)                         \
    {                                                                          \
        set_only_reads(true);                                                  \
        __real_hf_local_##call(local, ask, now);                               \
        set_only_reads(false);                                                 \
    }

FOLLOW_READ(scan)
FOLLOW_READ(queue_entries)
