/* SPDX-License-Identifier: Apache-2.0 */
/* THE MAIN HANDLE, AND THE STATUS OF THE NODE
 *
 *   names of servers ──▶ addresses ──▶ the main handle connects ──▶ READY
 *
 * The library looks names up without an end, and blocks; so it gets numeric
 * addresses. It tries them in turn. When a handle has failed at each, the names
 * are looked up again, and its next round has what was found; the node is DOWN
 * if it is the main handle. A name that is not found keeps the addresses that
 * it had. A live connection is never moved.
 *
 * ZooKeeper has no identity of an ensemble. But its transactions are numbered:
 * if a session is opened in one with numbers below those seen before, that is
 * another ensemble, or one that has lost its data. Its fences would begin anew:
 * all is lost, and nothing is granted any more. A session that lives is safe by
 * itself: a server refuses a client that has seen more than it has.
 *
 * A look-up is given up after a connect_timeout, and the next ones after twice
 * as long each time: one that hangs keeps the client from the other servers
 * for a moment only, and a slow resolver is waited for in the end.
 *
 * Cost: the look-ups, one after the other; TCP, and one round trip for the main
 * session. The check costs none: the numbers are in the replies. */
#include "store/zookeeper/calls.h"
#include "store/zookeeper/handle.h"
#include "store/zookeeper/op_parts.h"
#include "store/zookeeper/watch.h"
#include "store/zookeeper/zookeeper.h"

#include "io/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The timeout of the main session, in milliseconds. No lock ends with it, since
 * it only carries lists and watches: one that a server grants as it is, with
 * 4 s to 40 s by default. */
#define MAIN_TIMEOUT_MS 10000

/* Before the names are looked up again, in milliseconds: no server is reached,
 * or no handle was made. A resolver bears two look-ups in a second. */
#define RETRY_MS 500

/* One look-up, in milliseconds: three name servers, asked twice for 5 s each,
 * which are the resolver's defaults. */
#define LOOK_UP_MS_MAX 30000

static void resolve(struct hf_zk *zk, struct hf_instant now);

static void arm(struct hf_zk *zk)
{
    struct hf_instant at = zk->retry_at;
    bool has_answer = zk->phase == HF_ZK_READY || zk->phase == HF_ZK_FOREIGN;
    if (zk->over != NULL ||
        (has_answer && hf_ordered_jobs_are_due(&zk->ordered))) {
        at = HF_LONG_AGO;
    }
    hf_timer_set(&zk->timer, at);
}

static void plan(struct hf_zk *zk, struct hf_instant at)
{
    zk->retry_at = at;
    hf_timer_set(&zk->timer, hf_instant_min(zk->timer.at, at));
}

/* Look the names up again, unless that is under way or planned. */
static void look_up_again(struct hf_zk *zk)
{
    if (zk->resolve == NULL && hf_instant_is_never(zk->retry_at)) {
        plan(zk, hf_instant_add(zk->looked_up, hf_span_ms(RETRY_MS)));
    }
}

/* ---- Down ---------------------------------------------------------------- */

static void tell_down(struct hf_zk *zk, bool is_connecting, const char *reason)
{
    enum hf_status fault = HF_UNAVAILABLE;
    char why[HF_TEXT_LIST];
    bool has_both = zk->n_addresses > 0 && zk->unfound_why[0] != '\0';
    const char *unfound = has_both ? zk->unfound_why : "";
    const char *between = has_both ? "; " : "";
    if (zk->n_servers == 1) {
        snprintf(why, sizeof(why), "%s%s%s", reason, between, unfound);
    } else {
        snprintf(why, sizeof(why), "none of the %u servers: %s%s%s",
                 zk->n_servers, reason, between, unfound);
    }
    hf_ordered_down(&zk->ordered, is_connecting, fault, why);
    if (!is_connecting) {
        hf_jobs_finish(&zk->ordered.jobs, fault, why);
    }
}

/* ---- The main handle ----------------------------------------------------- */

static void open_main(struct hf_zk *zk, struct hf_instant now)
{
    zk->phase = HF_ZK_OPENING;
    zk->main = hf_zk_handle_new(zk, hf_span_ms(MAIN_TIMEOUT_MS), true, now);
    if (zk->main == NULL) {
        tell_down(zk, false, "out of memory, or no address is usable");
        look_up_again(zk);
    }
    arm(zk);
}

/* A session that is in use and has no connection: its locks cannot be renewed,
 * so the client listens until it has one. */
static const struct hf_zk_handle *find_cut_off(const struct hf_zk *zk,
                                               struct hf_instant now)
{
    const struct hf_zk_handle *handle = zk->handles;
    while (handle != NULL &&
           (handle->is_main || handle->opening != NULL || handle->is_over ||
            handle->life != HF_ZK_CONNECTING ||
            hf_instant_before(hf_instant_add(handle->used, handle->timeout),
                              now))) {
        handle = handle->next;
    }
    return handle;
}

static void tell_up(struct hf_zk *zk, struct hf_instant now)
{
    const struct hf_zk_handle *cut = find_cut_off(zk, now);
    if (!hf_zk_is_ready(zk)) {
        return; /* the main handle decides */
    }
    if (cut == NULL) {
        hf_ordered_up(&zk->ordered, now);
    } else {
        tell_down(zk, true, cut->why);
    }
}

static void main_changed(struct hf_zk_handle *handle, struct hf_instant now)
{
    struct hf_zk *zk = handle->zk;
    bool has_failed_all = handle->failed >= zk->n_addresses;
    if (zk->phase == HF_ZK_FOREIGN) {
        return;
    }
    switch (handle->life) {
    case HF_ZK_CONNECTED:
        zk->phase = HF_ZK_READY;
        tell_up(zk, now);
        arm(zk);
        break;
    case HF_ZK_CONNECTING:
        zk->phase = HF_ZK_OPENING;
        zk->ordered.is_probing = false;
        tell_down(zk, !has_failed_all, handle->why);
        break;
    case HF_ZK_EXPIRED:
        hf_zk_watches_fail(zk);
        hf_zk_handle_free(handle, false);
        hf_ordered_down(&zk->ordered, true, HF_UNAVAILABLE,
                        "its session has ended");
        open_main(zk, now);
        break;
    }
}

void hf_zk_node_changed(struct hf_zk_handle *handle, struct hf_instant now)
{
    struct hf_zk *zk = handle->zk;
    handle->told = handle->life;
    handle->has_failed = false;
    if (handle->life == HF_ZK_CONNECTING && handle->failed >= zk->n_addresses) {
        look_up_again(zk);
    }
    if (handle->is_main) {
        main_changed(handle, now);
    } else {
        hf_zk_session_changed(handle, now); /* it may be freed */
        tell_up(zk, now);
    }
}

bool hf_zk_node_check_zxid(struct hf_zk *zk, int64_t before, int64_t zxid,
                           struct hf_instant now)
{
    if (zxid > before || zxid == 0) {
        hf_zk_note_zxid(zk, zxid);
        return true;
    }
    snprintf(zk->why, sizeof(zk->why),
             "is another ensemble than before, or has lost its data: its "
             "transactions are at %llx, after %llx, so its fences would begin "
             "anew. Open another client, once nothing uses the old fences",
             (unsigned long long)zxid, (unsigned long long)before);
    zk->phase = HF_ZK_FOREIGN;
    hf_ordered_lose_all(&zk->ordered, zk->why, now);
    arm(zk);
    return false;
}

/* ---- Names --------------------------------------------------------------- */

static void drop_resolve(struct hf_zk *zk)
{
    if (zk->resolve != NULL) {
        hf_loop_unwatch(zk->ordered.env.loop, &zk->resolve_watch);
        hf_resolve_drop(zk->resolve);
        zk->resolve = NULL;
    }
}

static void note_unfound(struct hf_zk *zk, const char *reason)
{
    char why[HF_TEXT_SENTENCE];
    snprintf(why, sizeof(why), "%.60s: %.90s", zk->servers[zk->resolving].shown,
             reason);
    snprintf(zk->unfound_why, sizeof(zk->unfound_why), "%s", why);
    zk->has_unfound = true;
}

/** A look-up has ended. @param reason  why it found nothing; else NULL */
static void end_look_up(struct hf_zk *zk, const char *reason,
                        struct hf_instant now)
{
    drop_resolve(zk);
    zk->retry_at = HF_NEVER;
    if (reason != NULL) {
        note_unfound(zk, reason);
    }
    zk->resolving++;
    resolve(zk, now);
}

static void give_up_look_up(struct hf_zk *zk, struct hf_instant now)
{
    struct hf_span most =
        hf_span_max(hf_span_ms(LOOK_UP_MS_MAX), zk->connect_timeout);
    zk->look_up_timeout =
        hf_span_min(hf_span_scale(zk->look_up_timeout, 2), most);
    end_look_up(zk, "the host's address is not found in time", now);
}

static void on_resolved(struct hf_watch *watch, uint32_t events,
                        struct hf_instant now)
{
    struct hf_zk *zk =
        (struct hf_zk *)(void *)((char *)watch -
                                 offsetof(struct hf_zk, resolve_watch));
    char reason[HF_TEXT_SENTENCE] = "";
    struct hf_addresses *addresses = &zk->addresses[zk->resolving];
    (void)events;
    bool is_found =
        hf_resolve_take(zk->resolve, addresses, reason, sizeof(reason));
    if (is_found || reason[0] != '\0') {
        end_look_up(zk, is_found ? NULL : reason, now);
    }
}

/** Begin with the server `resolving`. @return false: no thread looks it up. */
static bool start_look_up(struct hf_zk *zk, struct hf_instant now)
{
    const struct hf_wire_host *server = &zk->servers[zk->resolving];
    struct hf_addresses numeric;
    if (hf_resolve_numeric(server->host, server->port, &numeric)) {
        zk->addresses[zk->resolving] = numeric;
        return false;
    }
    zk->resolve = hf_resolve_start(server->host, server->port);
    if (zk->resolve == NULL) {
        note_unfound(zk, "cannot start a thread to find the host");
        return false;
    }
    zk->resolve_watch = (struct hf_watch){.fd = hf_resolve_fd(zk->resolve),
                                          .ready = on_resolved};
    if (!hf_loop_watch(zk->ordered.env.loop, &zk->resolve_watch)) {
        hf_resolve_drop(zk->resolve);
        zk->resolve = NULL;
        note_unfound(zk, "too many descriptors to find the host");
        return false;
    }
    plan(zk, hf_instant_add(now, zk->look_up_timeout));
    return true;
}

/* The handles get the list with their next round. */
static void use_addresses(struct hf_zk *zk, struct hf_instant now)
{
    hf_zk_target_list(zk);
    zk->looked_up = now;
    if (!zk->has_unfound) {
        zk->unfound_why[0] = '\0';
        zk->look_up_timeout = zk->connect_timeout;
    }
    if (zk->main != NULL || zk->phase == HF_ZK_FOREIGN) {
        return;
    }
    if (zk->n_addresses > 0) {
        open_main(zk, now);
    } else {
        tell_down(zk, false, zk->has_unfound ? zk->unfound_why : "no address");
        look_up_again(zk);
    }
}

/* One at a time: a look-up blocks a thread of its own. */
static void resolve(struct hf_zk *zk, struct hf_instant now)
{
    while (zk->resolving < zk->n_servers) {
        if (start_look_up(zk, now)) {
            return;
        }
        zk->resolving++;
    }
    use_addresses(zk, now);
}

static void begin(struct hf_zk *zk, struct hf_instant now)
{
    zk->retry_at = HF_NEVER;
    if (zk->phase == HF_ZK_FOREIGN) {
        return;
    }
    if (zk->main == NULL) {
        zk->phase = HF_ZK_RESOLVING;
    }
    zk->resolving = 0;
    zk->has_unfound = false;
    resolve(zk, now);
}

/* ---- Events -------------------------------------------------------------- */

static void end_over(struct hf_zk *zk, struct hf_instant now)
{
    struct hf_zk_op *op = zk->over;
    zk->over = NULL;
    while (op != NULL) {
        struct hf_zk_op *next = op->next;
        op->next = NULL;
        hf_zk_op_done(op, now);
        op = next;
    }
}

static void on_timer(struct hf_timer *timer, struct hf_instant now)
{
    struct hf_zk *zk =
        (struct hf_zk *)(void *)((char *)timer - offsetof(struct hf_zk, timer));
    hf_timer_set(&zk->timer, HF_NEVER);
    zk->now = now;
    end_over(zk, now);
    hf_zk_watches_tell(zk, now);
    hf_zk_watches_free(zk, false);
    if (zk->phase == HF_ZK_READY && hf_ordered_jobs_serve(&zk->ordered)) {
        hf_zk_examine(zk, now);
    } else if (zk->phase == HF_ZK_FOREIGN) {
        hf_jobs_finish(&zk->ordered.jobs, HF_CONFIG, zk->why);
    }
    if (!hf_instant_before(now, zk->retry_at) && zk->resolve != NULL) {
        give_up_look_up(zk, now);
    } else if (!hf_instant_before(now, zk->retry_at)) {
        begin(zk, now);
    }
    hf_ordered_check(&zk->ordered);
    struct hf_instant at = zk->timer.at;
    arm(zk);
    hf_timer_set(&zk->timer, hf_instant_min(at, zk->timer.at));
}

/* ---- Life ---------------------------------------------------------------- */

void hf_zk_node_open(struct hf_zk *zk, struct hf_instant now)
{
    zk->timer = (struct hf_timer){.at = HF_NEVER, .fire = on_timer};
    zk->look_up_timeout = zk->connect_timeout;
    hf_loop_add_timer(zk->ordered.env.loop, &zk->timer);
    begin(zk, now);
}

void hf_zk_node_close(struct hf_zk *zk, bool is_forked)
{
    zk->is_closing = true;
    if (is_forked) {
        hf_resolve_drop(zk->resolve);
        zk->resolve = NULL;
    } else {
        drop_resolve(zk);
    }
    while (zk->handles != NULL) {
        struct hf_zk_handle *handle = zk->handles;
        if (is_forked) {
            hf_zk_handle_free_forked(handle);
        } else {
            hf_zk_handle_free(handle, handle->ends_session);
        }
    }
    while (zk->over != NULL) {
        struct hf_zk_op *op = zk->over;
        zk->over = op->next;
        hf_zk_op_free(op);
    }
    hf_zk_watches_free(zk, true);
    hf_loop_drop_timer(zk->ordered.env.loop, &zk->timer);
}

/* A client that was idle read no event: its connections may be lost, and its
 * sessions may have ended. */
void hf_zk_node_resume(struct hf_zk *zk, struct hf_instant now)
{
    for (struct hf_zk_handle *handle = zk->handles; handle != NULL;
         handle = handle->next) {
        hf_zk_handle_wake(handle);
    }
    if (!hf_instant_before(now, zk->retry_at)) {
        hf_timer_set(&zk->timer, HF_LONG_AGO);
    }
}
