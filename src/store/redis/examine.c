/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of `holdfast doctor` at a node. admission.c does INIT and QUARANTINE at
 * the end of a handshake: it declares a marker. EXAMINE runs after a handshake:
 * it reads the settings that decide whether locks can be lost, uses each right
 * once (rights.c), and acquires and releases a lock of its own. Each finding
 * names its remedy.
 *
 * Cost: a job begins with a handshake, which is one round trip. EXAMINE sends
 * its twelve requests in one write: one round trip more. The second connection
 * subscribes last, if it does not listen already: one to connect, and one for
 * its login and SUBSCRIBE. */
#include "base/fail.h"
#include "store/findings.h"
#include "store/redis/command.h"
#include "store/redis/fault.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Clocks that are further apart are not synchronized by NTP. */
#define SKEW_MS_MAX 1000

/* SET has KEEPTTL since 6.0; scripts replicate their effects since 5.0. */
#define VERSION_MIN 6

/* ---- Asking ------------------------------------------------------------ */

void hf_redis_examine_ask(struct hf_redis_node *node, uint8_t request,
                          const struct hf_redis_command *command,
                          struct hf_instant now)
{
    hf_redis_connection_ask(&node->connection, request, &command->request, now);
}

static void push_config(struct hf_redis_node *node, uint8_t request,
                        const char *name, struct hf_instant now)
{
    struct hf_redis_command command;
    hf_redis_command_begin(&command);
    hf_redis_command_add(&command, "CONFIG", 6);
    hf_redis_command_add(&command, "GET", 3);
    hf_redis_command_add(&command, name, strlen(name));
    hf_redis_examine_ask(node, request, &command, now);
}

/* Send the script's text, since EVALSHA could fail with NOSCRIPT. */
static void push_script(struct hf_redis_node *node, uint8_t request,
                        const struct hf_redis_keys *keys,
                        const struct hf_ask *ask, struct hf_instant now)
{
    struct hf_redis_command command;
    const struct hf_script *script =
        hf_redis_command_make(&command, node, keys, ask);
    command.argv[0] = "EVAL";
    command.lens[0] = 4;
    command.argv[1] = script->text;
    command.lens[1] = script->len;
    hf_redis_examine_ask(node, request, &command, now);
}

/* What the server lacks in rights or memory shows when a lock is acquired. A
 * random name meets no lock of a user. */
static void push_probe(struct hf_redis_node *node, struct hf_instant now)
{
    struct hf_probe probe;
    hf_probe_init(&probe);
    const struct hf_redis_keys *keys =
        hf_redis_keys_of(node->store, probe.name, strlen(probe.name));
    if (keys == NULL) {
        node->examination.is_under_way = false;
        hf_jobs_finish(&node->jobs, HF_INVALID,
                       "keys that begin with \"hf:\" are Holdfast's own: "
                       "choose another prefix");
        return;
    }
    hf_redis_rights_push(node, keys, now);
    push_script(node, HF_REDIS_PROBE_TAKE, keys, &probe.ask, now);
    hf_probe_set_release(&probe);
    push_script(node, HF_REDIS_PROBE_GIVE, keys, &probe.ask, now);
}

void hf_redis_examine(struct hf_redis_node *node, struct hf_instant now)
{
    if (hf_jobs_declare(&node->jobs)) {
        if (!node->admission.is_declared) { /* not done yet: do it now */
            hf_redis_handshake(node, false, now);
            return;
        }
        hf_findings_declared(&node->jobs, &node->admission);
    }
    if (!hf_jobs_has(&node->jobs, HF_JOB_EXAMINE)) {
        hf_jobs_finish(&node->jobs, HF_OK, "");
        return;
    }
    if (node->examination.is_under_way) {
        return; /* its replies are pending */
    }
    memset(&node->examination, 0, sizeof(node->examination));
    node->examination.is_under_way = true;
    push_config(node, HF_REDIS_MAXMEMORY, "maxmemory", now);
    push_config(node, HF_REDIS_POLICY, "maxmemory-policy", now);
    push_config(node, HF_REDIS_MIN_REPLICAS, "min-replicas-to-write", now);
    push_config(node, HF_REDIS_MAX_LAG, "min-replicas-max-lag", now);
    push_probe(node, now);
    hf_redis_connection_flush(&node->connection);
    hf_redis_node_arm(node);
}

/* ---- Finding ----------------------------------------------------------- */

/** The number behind one byte, a blank or a dot. @return -1: there is none. */
static long next_number(const char **at)
{
    if (**at == '\0' || !isdigit((unsigned char)(*at)[1])) {
        return -1;
    }
    char *end;
    long number = strtol(*at + 1, &end, 10);
    *at = end;
    return number;
}

static void find_identity(struct hf_redis_node *node)
{
    const char *number = strchr(node->version, ' ');
    long major = number == NULL ? -1 : next_number(&number);
    if (major > 0 && major < VERSION_MIN) {
        hf_jobs_report(&node->jobs, HF_FINDING_ERROR,
                       "is %s: Holdfast needs Redis 6 or later, or Valkey",
                       node->version);
        return;
    }
    hf_jobs_report(&node->jobs, HF_FINDING_OK,
                   "%s, up for %" PRId64 " s, round trip %" PRId64 " us",
                   node->version[0] == '\0' ? "a server that hides its version"
                                            : node->version,
                   node->uptime_ms / 1000, hf_span_us_floor(node->rtt));
}

static void find_memory(struct hf_redis_node *node)
{
    const struct hf_redis_examination *seen = &node->examination;
    bool can_evict =
        seen->policy[0] != '\0' && strcmp(seen->policy, "noeviction") != 0;
    if (can_evict && seen->maxmemory > 0) {
        hf_jobs_report(
            &node->jobs, HF_FINDING_ERROR,
            "evicts keys when memory is short (maxmemory-policy %s), locks "
            "too: set maxmemory-policy noeviction",
            seen->policy);
    } else if (can_evict) {
        hf_jobs_report(
            &node->jobs, HF_FINDING_WARNING,
            "would evict locks if it ever got a maxmemory (maxmemory-policy "
            "%s): set maxmemory-policy noeviction",
            seen->policy);
    }
}

static void find_durability(struct hf_redis_node *node)
{
    int64_t wait_s = hf_admission_quarantine_s(&node->admission);
    if (!node->store->strict) {
        hf_findings_unguarded(&node->jobs);
    } else if (!node->admission.identity.knows_durability) {
        hf_jobs_report(
            &node->jobs, HF_FINDING_WARNING,
            "does not let us ask whether its data survive a restart: after "
            "each it does not count for %" PRId64
            " s (allow CONFIG GET: +config|get)",
            wait_s);
    } else if (node->admission.identity.is_durable) {
        hf_jobs_report(&node->jobs, HF_FINDING_OK,
                       "appendfsync always: a restart loses nothing");
    } else if (hf_redis_is_synced(node)) {
        hf_jobs_report(
            &node->jobs, HF_FINDING_OK,
            "after a restart it does not count for %" PRId64
            " s: it has replicas, whose data could be started as its "
            "own",
            wait_s);
    } else {
        hf_jobs_report(
            &node->jobs, HF_FINDING_OK,
            "after a restart it does not count for %" PRId64
            " s (with appendonly yes, appendfsync always and "
            "no-appendfsync-on-rewrite no it would at once, at the price of a "
            "disk write per lock)",
            wait_s);
    }
}

/* A single node that loses its data loses the marks of --once. */
static void find_once(struct hf_redis_node *node)
{
    bool is_durable = node->admission.identity.knows_durability &&
                      node->admission.identity.is_durable;
    if (node->store->base.n_nodes == 1 && !is_durable) {
        hf_jobs_report(
            &node->jobs, HF_FINDING_OK,
            "a restart that loses data may cost a second run of what --once "
            "has started");
    }
}

/* The check in scripts, which all our writes are, came with 6.0.17 and 6.2.7
 * (redis issues 5301 and 9993). Valkey began with it. */
bool hf_redis_examine_guards_scripts(const char *version)
{
    const char *at = strncmp(version, "Redis ", 6) == 0 ? version + 5 : "";
    long major = next_number(&at);
    long minor = next_number(&at);
    long patch = next_number(&at);
    if (patch < 0) {
        return true; /* it hides its version, or is another server */
    }
    if (major != VERSION_MIN || minor > 2) {
        return major >= VERSION_MIN;
    }
    return patch >= (minor == 0 ? 17 : 7);
}

/* A lag of 0 switches min-replicas-to-write off. */
static void find_replicas(struct hf_redis_node *node)
{
    const struct hf_redis_examination *seen = &node->examination;
    if (node->replicas == 0) {
        return;
    }
    if (!hf_redis_examine_guards_scripts(node->version)) {
        hf_jobs_report(
            &node->jobs, HF_FINDING_WARNING,
            "has replicas, but %s does not apply min-replicas-to-write to "
            "scripts: a failover can lose locks and leave two primaries; "
            "upgrade, or do without replicas",
            node->version);
    } else if (seen->knows_config &&
               (seen->min_replicas < 1 || seen->max_lag < 1)) {
        hf_jobs_report(
            &node->jobs, HF_FINDING_WARNING,
            "has replicas, but %s is 0: a failover can lose locks and leave "
            "two primaries; set min-replicas-to-write 1 and "
            "min-replicas-max-lag 10, or do without replicas",
            seen->min_replicas < 1 ? "min-replicas-to-write"
                                   : "min-replicas-max-lag");
    }
}

/* Compare with the nodes before this one: each pair is compared once. */
static void find_skew(struct hf_redis_node *node)
{
    for (unsigned i = 0; i < node->index; i++) {
        const struct hf_redis_node *other = &node->store->nodes[i];
        if (other->time_ms == 0) {
            continue;
        }
        int64_t later_ms =
            hf_span_ms_floor(hf_instant_until(other->clock_at, node->clock_at));
        int64_t earlier_ms =
            hf_span_ms_floor(hf_instant_until(node->clock_at, other->clock_at));
        int64_t apart_ms =
            node->time_ms - other->time_ms - later_ms + earlier_ms;
        if (apart_ms > SKEW_MS_MAX || apart_ms < -SKEW_MS_MAX) {
            hf_jobs_report(
                &node->jobs, HF_FINDING_WARNING,
                "its clock is %" PRId64 " ms %s that of %s: fences that "
                "survive lost data need clocks that agree; run NTP on both",
                apart_ms < 0 ? -apart_ms : apart_ms,
                apart_ms < 0 ? "behind" : "ahead of", other->address);
        }
    }
}

static void find_time(struct hf_redis_node *node)
{
    if (node->rtt.ns > node->store->node_timeout.ns) {
        hf_jobs_report(
            &node->jobs, HF_FINDING_WARNING,
            "takes %" PRId64 " us to answer, more than node_timeout (%" PRId64
            " ms): set node_timeout to three round trips, and use leases of "
            "at least twenty times that",
            hf_span_us_floor(node->rtt),
            hf_span_ms_floor(node->store->node_timeout));
    }
    find_skew(node);
    hf_findings_clock(&node->jobs, node->time_ms);
}

static void find_push(struct hf_redis_node *node)
{
    const char *fault = node->examination.push_fault;
    if (fault[0] != '\0' && node->listener.is_elsewhere) {
        hf_jobs_report(&node->jobs, HF_FINDING_ERROR, "%s", fault);
    } else if (fault[0] != '\0') {
        hf_jobs_report(
            &node->jobs, HF_FINDING_WARNING,
            "the second connection to it failed (%s): a released lock "
            "is not handed over: waiters poll",
            fault);
    }
}

static void find_all(struct hf_redis_node *node, struct hf_instant now)
{
    find_identity(node);
    find_memory(node);
    find_durability(node);
    find_once(node);
    find_replicas(node);
    find_time(node);
    if (!node->examination.knows_config) {
        hf_jobs_report(
            &node->jobs, HF_FINDING_WARNING,
            "does not let us ask for maxmemory-policy and "
            "min-replicas-to-write: make sure of noeviction, or allow "
            "+config|get");
    }
    hf_redis_rights_find(node);
    find_push(node);
    if (node->examination.lacking[0] == '\0' &&
        node->examination.unknown[0] == '\0') {
        hf_findings_probe(&node->jobs, node->examination.fault);
    }
    if (node->standing.status == HF_NODE_STATUS_REPAIRING) {
        char text[HF_TEXT_REASON];
        hf_redis_quarantine_text(node, text, sizeof(text));
        hf_findings_quarantine(&node->jobs, &node->admission, text, now);
    }
}

/* ---- The second connection --------------------------------------------- */

void hf_redis_examine_push(struct hf_redis_node *node, const char *words)
{
    if (!node->examination.awaits_push) {
        return;
    }
    if (!hf_redis_rights_lack(node, words)) {
        snprintf(node->examination.push_fault,
                 sizeof(node->examination.push_fault), "%s", words);
    }
    node->examination.awaits_push = false;
    node->examination.is_under_way = false;
    find_all(node, node->connection.heard_at);
    hf_jobs_finish(&node->jobs, HF_OK, "");
}

/* Subscribe again at once, also after a refusal: rights may have changed. */
static void await_push(struct hf_redis_node *node, struct hf_instant now)
{
    struct hf_redis_listener *listener = &node->listener;
    node->examination.awaits_push = true;
    if (listener->phase == HF_REDIS_LISTENING) {
        hf_redis_examine_push(node, "");
        return;
    }
    if (listener->phase == HF_REDIS_OFF) {
        listener->connection.reconnect.retry_at = HF_NEVER;
    }
    hf_redis_listen_want(node, now);
}

void hf_redis_examined(struct hf_redis_node *node,
                       const struct hf_pending *pending, struct hf_instant now)
{
    const struct hf_reply *reply = &node->connection.reply;
    struct hf_redis_examination *seen = &node->examination;
    bool is_error = reply->items[0].type == HF_REPLY_ERROR;
    switch (pending->verb) {
    case HF_REDIS_MAXMEMORY:
        seen->maxmemory = hf_reply_integer(reply, 2);
        break;
    case HF_REDIS_POLICY:
        seen->knows_config = reply->n >= 3;
        snprintf(seen->policy, sizeof(seen->policy), "%s",
                 hf_reply_text(reply, 2));
        hf_error_make_plain(seen->policy);
        break;
    case HF_REDIS_MIN_REPLICAS:
        seen->min_replicas = hf_reply_integer(reply, 2);
        break;
    case HF_REDIS_MAX_LAG:
        seen->max_lag = hf_reply_integer(reply, 2);
        break;
    case HF_REDIS_RIGHT_PLAIN:
    case HF_REDIS_RIGHT_LOCK:
    case HF_REDIS_RIGHT_SIDE:
    case HF_REDIS_RIGHT_SCRIPT:
        hf_redis_rights_take(node, pending->verb);
        break;
    default:
        if (is_error && seen->fault[0] == '\0') {
            hf_redis_fault(hf_reply_text(reply, 0), seen->fault,
                           sizeof(seen->fault));
        }
        break;
    }
    if (pending->verb == HF_REDIS_PROBE_GIVE && seen->is_under_way) {
        await_push(node, now);
    }
}
