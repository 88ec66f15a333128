/* SPDX-License-Identifier: Apache-2.0 */
/* THE MARKS AT THE NODES, and the replies about them that a process has read.
 * The oracle follows each run of mark.lua from its reply to the time when the
 * process reads that reply's bytes. once.c judges by this state. */
#include "oracle/once.h"

#include "local/machine.h"
#include "redis/redis.h"

#include "store/redis/keys.h"

#include <stdlib.h>
#include <string.h>

/* EVALSHA, hash, 8, keys, then the arguments from 1 on. */
#define LOCK_KEY 3
#define ARG(n) (10 + (n))

#define PREFIX "lock:"
#define PREFIX_LEN (sizeof(PREFIX) - 1) /* bytes, without the NUL */

/* The number after the n-th ':' of a reply. */
static bool number_of(const struct sim_run *run, int n, int64_t *out)
{
    const char *at = run->reply;
    const char *end = run->reply + run->reply_len;
    for (; n > 0 && at != NULL; n--) {
        at = memchr(at, ':', (size_t)(end - at));
        at = at == NULL ? NULL : at + 1;
    }
    if (at == NULL) {
        return false;
    }
    *out = strtoll(at, NULL, 10);
    return true;
}

/* The mark at a node, from the reply "*4 :1 :fence :left $len owner". */
struct kept {
    uint64_t fence;
    bool is_live;
};

static bool read_kept(const struct sim_run *run, struct kept *out)
{
    int64_t fence;
    int64_t left_ms;
    const char *owner = memchr(run->reply, '$', run->reply_len);
    if (run->reply[0] != '*' || owner == NULL || !number_of(run, 2, &fence) ||
        !number_of(run, 3, &left_ms)) {
        return false;
    }
    *out = (struct kept){(uint64_t)fence,
                         left_ms > 0 && owner[1] != '0' && fence > 0};
    return true;
}

static int name_of(const struct sim_run *run)
{
    const struct sim_arg *key = &run->argv[LOCK_KEY];
    if (key->len != PREFIX_LEN + 1 ||
        memcmp(key->data, PREFIX, PREFIX_LEN) != 0) {
        return -1;
    }
    int name = key->data[PREFIX_LEN] - 'a';
    return name < SIM_NAMES_MAX ? name : -1;
}

/* A node has one mark of a name: a reply that shows another one, or none, takes
 * the node out of the sets of all other runs. */
static void note_kept(struct sim_once *once, int name, int node, int process,
                      const struct kept *kept, int64_t now_ns)
{
    uint8_t bit = (uint8_t)(1U << node);
    for (size_t i = 0; i < once->n; i++) {
        struct sim_mark_run *run = &once->runs[i];
        if (run->name != name) {
            continue;
        }
        if (!kept->is_live || kept->fence != run->fence) {
            run->has &= (uint8_t)~bit;
            continue;
        }
        run->taken_ns = (run->has & bit) == 0 ? now_ns : run->taken_ns;
        run->n_copies += (run->has & bit) == 0 && process != run->process;
        run->has |= bit;
        run->ever |= bit;
        run->lost &= (uint8_t)~bit;
    }
}

/* A break withdraws the mark that it finds when its script runs, which may be
 * later than its call. */
static void note_tombstone(struct sim_once *once, int name, int process,
                           uint64_t fence)
{
    bool breaks = (once->breaks[process] >> name & 1) != 0;
    for (size_t i = 0; breaks && i < once->n; i++) {
        struct sim_mark_run *run = &once->runs[i];
        run->may_be_withdrawn |= run->name == name && run->fence == fence;
    }
}

static void note_look(struct sim_mark_call *call, int name,
                      const struct sim_link *link, const struct kept *kept)
{
    if (!call->is_on || link->sent_ns < call->begun_ns) {
        return; /* of an earlier call */
    }
    if (call->first_ns[name] == 0) {
        call->first_ns[name] = link->sent_ns;
    }
    call->looks[name][link->node->index] =
        (struct sim_mark_look){.is_executed = true,
                               .is_live = kept->is_live,
                               .fence = kept->fence,
                               .link = link->number,
                               .sent_ns = link->sent_ns};
}

void sim_once_script(struct sim_oracle *oracle, const struct sim_link *link,
                     const struct sim_run *run)
{
    struct kept kept;
    if (strcmp(run->script, "mark") != 0 || run->argc <= ARG(4) ||
        name_of(run) < 0 || !read_kept(run, &kept)) {
        return;
    }
    struct sim_once *once = sim_once_of(oracle);
    uint64_t fence = strtoull(run->argv[ARG(2)].data, NULL, 10);
    note_kept(once, name_of(run), link->node->index, link->peer, &kept,
              oracle->world->now_ns);
    if (run->argv[ARG(4)].len == 0) {
        note_tombstone(once, name_of(run), link->peer, fence);
    }
    if (fence == 0) {
        struct sim_mark_check *check = &once->checks[link->peer];
        note_look(&once->calls[link->peer], name_of(run), link, &kept);
        if (link->sent_ns <= check->at_ns) { /* it arrives late */
            note_look(&check->call, name_of(run), link, &kept);
        }
    }
}

/* The replies to the scripts executed so far have been sent. */
static void note_sent(struct sim_mark_call *call, const struct sim_link *link)
{
    for (int name = 0; name < SIM_NAMES_MAX; name++) {
        struct sim_mark_look *look = &call->looks[name][link->node->index];
        if (look->is_executed && look->offset == 0 &&
            look->link == link->number) {
            look->offset = link->down_sent;
        }
    }
}

void sim_once_wrote(struct sim_oracle *oracle, const struct sim_link *link)
{
    if (oracle->once != NULL && !link->down.has_end) {
        note_sent(&oracle->once->calls[link->peer], link);
        note_sent(&oracle->once->checks[link->peer].call, link);
    }
}

static void note_read(struct sim_mark_call *call, const struct sim_link *link)
{
    for (int name = 0; name < SIM_NAMES_MAX; name++) {
        struct sim_mark_look *look = &call->looks[name][link->node->index];
        if (look->offset != 0 && look->link == link->number &&
            look->read_ns == 0 && look->offset <= link->down_read) {
            look->read_ns = link->world->now_ns;
        }
    }
}

void sim_once_read(struct sim_oracle *oracle, const struct sim_link *link)
{
    if (oracle->once != NULL) {
        note_read(&oracle->once->calls[link->peer], link);
        note_read(&oracle->once->checks[link->peer].call, link);
    }
}

/* Read in the node's own data, at this moment. */
static bool keeps(const struct sim_oracle *oracle, int node,
                  const struct sim_mark_run *run)
{
    struct hf_redis_keys keys;
    size_t len;
    char name = (char)('a' + run->name);
    if (oracle->world->machine != NULL) {
        return sim_machine_has_mark(oracle->world->machine,
                                    (const char[]){name, '\0'}, run->fence);
    }
    hf_redis_keys_make(&keys, PREFIX, PREFIX_LEN, &name, 1);
    const struct hf_redis_side_key *key = &keys.sides[HF_REDIS_ONCE];
    const char *text = sim_redis_get(oracle->world->nodes[node].redis,
                                     key->text, key->len, &len);
    return text != NULL && len > 17 && strtoull(text, NULL, 10) == run->fence;
}

void sim_once_forgot(struct sim_oracle *oracle, int node)
{
    struct sim_once *once = oracle->once;
    uint8_t bit = (uint8_t)(1U << node);
    for (size_t i = 0; once != NULL && i < once->n; i++) {
        struct sim_mark_run *run = &once->runs[i];
        if ((run->ever & bit) == 0) {
            continue;
        }
        run->has &= (uint8_t)~bit;
        if (keeps(oracle, node, run)) {
            run->has |= bit;
        } else {
            run->lost |= bit;
        }
    }
}
