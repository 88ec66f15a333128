/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of client_sequences.c that acquire a lock, or use one. */
#ifndef SEQUENCE_LOCKS_H
#define SEQUENCE_LOCKS_H

#include "sequence_ops.h"

/* ---- Requests ------------------------------------------------------------ */

static inline void draw_more(struct hf_request *request, struct wish *wish,
                             struct hf_name *more)
{
    if (wish->names[0] > MORE || draw(4) != 0) {
        return;
    }
    for (int i = 1; i <= MORE; i++) {
        int name = (wish->names[0] + i) % (1 + MORE);
        if (draw(2) == 0) {
            const char *text = world.names[name].text;
            enum hf_mode mode = draw(2) == 0 ? HF_SHARED : HF_EXCLUSIVE;
            more[request->n_more++] = (struct hf_name){
                .name = text, .name_len = strlen(text), .mode = mode};
            wish->names[wish->n] = name;
            wish->modes[wish->n++] = mode;
        }
    }
    request->more = more;
}

static inline int64_t draw_ttl_ms(const struct known *known)
{
    static const int64_t ttls_ms[] = {100, 2000, LEASE_MS};
    return known->is_broken ? 400 : ttls_ms[draw(3)];
}

static inline struct hf_request draw_request(struct box *box, struct wish *wish,
                                             struct hf_name *more)
{
    *wish = (struct wish){.n = 1, .names = {(int)draw(NAMES)}};
    const struct known *known = &world.names[wish->names[0]];
    struct hf_request request = want(known->text, draw_ttl_ms(known), 0);
    request.label = draw(2) == 0 ? "drawn" : NULL;
    request.permits = known->permits;
    request.unfair = draw(4) == 0;
    request.liveness = draw(4) == 0 ? HF_LIVENESS_LEASE : HF_LIVENESS_PROCESS;
    request.user = box;
    if (known->permits == 0 && draw(3) == 0) {
        request.mode = HF_SHARED;
    }
    wish->modes[0] = request.mode;
    draw_more(&request, wish, more);
    lock_world();
    for (int i = 0; i < wish->n; i++) {
        memcpy(wish->before[i], world.names[wish->names[i]].fence,
               sizeof(wish->before[i]));
    }
    unlock_world();
    return request;
}

static inline struct hf_cancel *draw_token(struct hf_request *request,
                                           unsigned most)
{
    struct hf_cancel *cancel = NULL;
    if (request->wait_ms == HF_WAIT_FOREVER || draw(4) == 0) {
        cancel = new_token();
        token_due(cancel, draw(most));
        request->cancel = cancel;
    }
    return cancel;
}

static inline const struct known *any_name(void)
{
    return &world.names[draw(NAMES)];
}

static inline const struct known *broken_name(void)
{
    return &world.names[1 + MORE + draw(2)];
}

/* ---- Acquire ------------------------------------------------------------- */

#define ACQUIRED (COMMON | BIT(HF_BUSY))

static inline void do_acquire(struct box *box)
{
    struct wish wish;
    struct hf_name more[MORE];
    struct hf_lock *lock = NULL;
    struct hf_error error;
    struct hf_request request = draw_request(box, &wish, more);
    unsigned wait = draw(4);
    request.wait_ms = wait == 0   ? HF_WAIT_FOREVER
                      : wait == 1 ? draw(self()->nest > 0 ? 5 : 30)
                                  : 0;
    struct hf_cancel *cancel = draw_token(&request, 20);
    calls("hf_lock_acquire");
    enum hf_status status =
        hf_lock_acquire(box->client, &request, &lock, &error);
    expect(box, "hf_lock_acquire",
           ACQUIRED | (cancel != NULL ? BIT(HF_CANCELLED) : 0U), status,
           &error);
    if ((lock != NULL) != (status == HF_OK) ||
        (status == HF_BUSY && wait == 0)) {
        wrong("a lock, or none, with %s", hf_status_name(status));
    }
    if (lock != NULL && !atomic_load(&box->is_closing)) {
        held_add(box, lock, &wish, 0);
    }
    if (cancel != NULL) {
        token_free(cancel);
    }
}

static inline void do_start_acquire(struct box *box)
{
    struct hf_name more[MORE];
    struct hf_error error;
    struct op *op = op_begin(box, "hf_op_start_acquire", ACQUIRED);
    struct hf_request request = draw_request(box, &op->wish, more);
    request.wait_ms = draw(3) == 0 ? HF_WAIT_FOREVER : draw(30);
    bool has_token = draw(3) == 0;
    if (has_token) {
        op->cancel = new_token();
        op->allowed |= BIT(HF_CANCELLED);
        token_due(op->cancel, draw(40));
        request.cancel = op->cancel;
    }
    op_started(op, has_token ? BIT(HF_CANCELLED) : 0,
               hf_op_start_acquire(box->client, &request, on_lock, op, &op->op,
                                   &error),
               &error);
}

static inline struct hf_request adopt_request(struct box *box,
                                              const struct loose *loose)
{
    struct hf_request request =
        want(world.names[loose->wish.names[0]].text, 0, 0);
    request.user = box;
    request.mode = loose->wish.modes[0];
    return request;
}

#define ADOPTED (COMMON | BIT(HF_LOST))

static inline void do_adopt(struct box *box)
{
    struct loose *loose = loose_take();
    struct hf_lock *lock = NULL;
    struct hf_error error;
    if (loose == NULL) {
        return;
    }
    struct hf_request request = adopt_request(box, loose);
    calls("hf_lock_adopt");
    enum hf_status status =
        hf_lock_adopt(box->client, &request, loose->text, &lock, &error);
    expect(box, "hf_lock_adopt", ADOPTED, status, &error);
    if (lock != NULL && !atomic_load(&box->is_closing)) {
        held_add(box, lock, &loose->wish, loose->fence);
    }
    if (status == HF_OK || status == HF_LOST) {
        free(loose);
    } else {
        loose_add(loose);
    }
}

static inline void do_start_adopt(struct box *box)
{
    struct loose *loose = loose_take();
    struct hf_error error;
    if (loose == NULL) {
        return;
    }
    struct op *op = op_begin(box, "hf_op_start_adopt", ADOPTED);
    struct hf_request request = adopt_request(box, loose);
    op->loose = loose;
    op->wish = loose->wish;
    op_started(op, 0,
               hf_op_start_adopt(box->client, &request, loose->text, on_lock,
                                 op, &op->op, &error),
               &error);
}

static inline void do_owner_release(struct box *box)
{
    struct loose *loose = loose_take();
    struct hf_error error;
    if (loose == NULL) {
        return;
    }
    const char *name = world.names[loose->wish.names[0]].text;
    calls("hf_owner_release");
    enum hf_status status =
        hf_owner_release(box->client, name, strlen(name), loose->text, &error);
    expect(box, "hf_owner_release", ADOPTED | BIT(HF_UNKNOWN), status, &error);
    if (status == HF_OK || status == HF_LOST) {
        free(loose);
    } else {
        loose_add(loose);
    }
}

/* ---- Of a lock ----------------------------------------------------------- */

#define RELEASED (BIT(HF_OK) | BIT(HF_LOST) | BIT(HF_UNKNOWN))

static inline void do_release(struct held *held)
{
    held_take_out(held);
    calls("hf_lock_release");
    enum hf_status status = hf_lock_release(held->lock);
    expect(held->box, "hf_lock_release", RELEASED, status, NULL);
    held_leave(held, true);
}

static inline void reserved_until(const struct held *held, int64_t until_ms)
{
    lock_world();
    for (int i = 0; i < held->wish.n; i++) {
        struct known *known = &world.names[held->wish.names[i]];
        if (held->wish.modes[i] == HF_EXCLUSIVE && known->permits == 0 &&
            known->reserved_ms < until_ms) {
            known->reserved_ms = until_ms;
        }
    }
    unlock_world();
}

/* How long its names may be reserved: those of a reader are not. */
static inline int64_t draw_reserve(const struct held *held)
{
    bool has_reader = false;
    for (int i = 0; held->slot < 0 && i < held->wish.n; i++) {
        has_reader = has_reader || held->wish.modes[i] == HF_SHARED;
    }
    return has_reader ? 0 : draw(30);
}

static inline void do_release_reserved(struct held *held)
{
    int64_t reserve_ms = draw_reserve(held);
    int64_t began_ms = now_ms();
    held_take_out(held);
    calls("hf_lock_release_reserved");
    enum hf_status status = hf_lock_release_reserved(held->lock, reserve_ms);
    expect(held->box, "hf_lock_release_reserved", RELEASED, status, NULL);
    if (status == HF_OK) {
        reserved_until(held, began_ms + reserve_ms);
    }
    held_leave(held, true);
}

static inline void do_start_release(struct held *held)
{
    struct op *op = NULL;
    held_take_out(held);
    if (draw(3) != 0) {
        op = op_begin(held->box, "hf_op_start_release", RELEASED);
    }
    calls("hf_op_start_release");
    hf_op_start_release(held->lock, op == NULL ? NULL : on_lock, op);
    if (op != NULL) {
        op_started(op, 0, HF_OK, NULL);
    }
    held_leave(held, true);
}

static inline void do_start_release_reserved(struct held *held)
{
    struct op *op =
        op_begin(held->box, "hf_op_start_release_reserved", RELEASED);
    held_take_out(held);
    bool is_started =
        op_started(op, 0,
                   hf_op_start_release_reserved(held->lock, draw_reserve(held),
                                                on_lock, op),
                   NULL);
    if (!is_started) {
        held_put_back(held);
    }
    held_leave(held, is_started);
}

#define CHANGED(held)                                                          \
    (COMMON | BIT(HF_LOST) | ((held)->had_op ? BIT(HF_INVALID) : 0U))

static inline void do_extend(struct held *held)
{
    struct hf_error error;
    int64_t ttl_ms =
        draw(2) == 0 ? 0 : draw_ttl_ms(&world.names[held->wish.names[0]]);
    calls("hf_lock_extend");
    enum hf_status status = hf_lock_extend(held->lock, ttl_ms, &error);
    expect(held->box, "hf_lock_extend", CHANGED(held), status, &error);
    held_leave(held, false);
}

static inline void do_start_extend(struct held *held)
{
    struct hf_error error;
    struct op *op = op_begin(held->box, "hf_op_start_extend",
                             COMMON | BIT(HF_LOST) | BIT(HF_CANCELLED));
    unsigned allowed = CHANGED(held) & ~BIT(HF_UNAVAILABLE);
    held->had_op = true;
    op_started(op, allowed,
               hf_op_start_extend(held->lock, 0, on_lock, op, &op->op, &error),
               &error);
    held_leave(held, false);
}

static inline unsigned detached(const struct held *held)
{
    bool is_one = held->wish.n == 1 && held->slot < 0;
    return is_one ? CHANGED(held) : CHANGED(held) | BIT(HF_UNSUPPORTED);
}

static inline void do_detach(struct held *held)
{
    char text[HF_OWNER_TEXT_MAX];
    held_take_out(held);
    calls("hf_lock_detach");
    enum hf_status status = hf_lock_detach(held->lock, text);
    expect(held->box, "hf_lock_detach", detached(held), status, NULL);
    if ((text[0] != '\0') != (status == HF_OK)) {
        wrong("a text, or none, with %s", hf_status_name(status));
    }
    if (status == HF_OK) {
        loose_add(loose_new(held, held->fence, text));
    }
    bool is_over = status == HF_OK || status == HF_LOST;
    if (!is_over) {
        held_put_back(held);
    }
    held_leave(held, is_over);
}

static inline void do_start_detach(struct held *held)
{
    struct hf_error error;
    struct box *box = held->box;
    struct op *op = op_begin(box, "hf_op_start_detach", COMMON | BIT(HF_LOST));
    unsigned allowed = detached(held) & ~BIT(HF_UNAVAILABLE);
    held_take_out(held);
    held->had_op = true;
    lock_world();
    op->held = held;
    held->is_used = false;
    unlock_world();
    op_started(op, allowed & ~BIT(HF_LOST),
               hf_op_start_detach(held->lock, on_detached, op, &op->op, &error),
               &error);
    box_leave(box);
}

static inline void do_add_process(struct held *held)
{
    int64_t pid = draw(2) == 0 ? getpid() : -(int64_t)getpgrp();
    calls("hf_lock_add_process");
    enum hf_status status = hf_lock_add_process(held->lock, pid);
    expect(held->box, "hf_lock_add_process", CHANGED(held) | BIT(HF_INVALID),
           status, NULL);
    held_leave(held, false);
}

static inline void do_mark(struct held *held)
{
    struct hf_error error;
    bool can = held->slot < 0;
    bool may_be_unmarked = held->was_unmarked;
    for (int i = 0; i < held->wish.n; i++) {
        can = can && held->wish.modes[i] == HF_EXCLUSIVE;
        /* A break withdraws the mark, and the loss may not be known yet. */
        may_be_unmarked |= world.names[held->wish.names[i]].is_broken;
    }
    calls("hf_lock_mark");
    enum hf_status status = hf_lock_mark(held->lock, 1 + draw(40), &error);
    expect(held->box, "hf_lock_mark",
           can ? ACQUIRED | BIT(HF_LOST) |
                     (may_be_unmarked ? BIT(HF_INVALID) : 0U)
               : BIT(HF_INVALID),
           status, &error);
    held->was_unmarked = held->was_unmarked || status != HF_OK;
    if (status == HF_OK && draw(2) == 0) {
        held->was_unmarked = true;
        calls("hf_lock_unmark");
        status = hf_lock_unmark(held->lock, &error);
        expect(held->box, "hf_lock_unmark", COMMON, status, &error);
    }
    held_leave(held, false);
}

static inline void do_ask(struct held *held)
{
    char text[HF_OWNER_TEXT_MAX];
    const struct known *known = &world.names[held->wish.names[0]];
    calls("hf_lock_state");
    enum hf_state state = hf_lock_state(held->lock);
    count("hf_lock_state", HF_OK);
    if (held->is_dead || atomic_load(&held->box->is_closing)) {
        held_leave(held, false);
        return;
    }
    hf_lock_owner_at(held->lock, (size_t)held->wish.n - 1, text);
    if (state == HF_STATE_RELEASED || text[0] == '\0' ||
        (state == HF_STATE_LOST && (hf_lock_valid_for(held->lock, 0) ||
                                    hf_lock_remaining_ms(held->lock) != 0)) ||
        hf_lock_fence(held->lock) != held->fence ||
        hf_lock_user(held->lock) != held->box ||
        strcmp(hf_lock_name_at(held->lock, 0, NULL), known->text) != 0 ||
        hf_lock_name_at(held->lock, (size_t)held->wish.n, NULL) != NULL) {
        wrong("state %d, owner '%s'", (int)state, text);
    }
    held_leave(held, false);
}

static inline void do_bad(struct held *held)
{
    struct hf_lock *lock = held->lock;
    enum hf_status status = HF_INVALID;
    unsigned which = draw(4);
    calls("a bad argument");
    if (which == 0) {
        status = hf_lock_release_reserved(lock, -1);
    } else if (which == 1) {
        status = hf_lock_extend(lock, HF_RESERVE_MS_MAX, NULL);
    } else if (which == 2) {
        status = hf_lock_detach(lock, NULL);
    } else {
        status = hf_op_start_release_reserved(lock, 1, NULL, NULL);
    }
    expect(held->box, "a bad argument",
           BIT(HF_INVALID) | (which == 1 ? BIT(HF_LOST) : 0U), status, NULL);
    held_leave(held, false);
}

#endif
