/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of client_sequences.c that are about a client. */
#ifndef SEQUENCE_CLIENTS_H
#define SEQUENCE_CLIENTS_H

#include "sequence_names.h"

/* ---- Of a client --------------------------------------------------------- */

/* Changes of a lock that this thread may use. */
static inline void on_state(void *user, struct hf_lock *lock,
                            enum hf_state state)
{
    struct actor *actor = self();
    struct box *outer = actor->in_state;
    struct box *box = user;
    if (state == HF_STATE_RELEASED || hf_lock_user(lock) != box ||
        hf_lock_name(lock, NULL) == NULL) {
        wrong("a strange change to %d", (int)state);
    }
    count("on_state", HF_OK);
    actor->in_state = box;
    struct held *held = held_claim(lock);
    if (held != NULL && draw(2) == 0) {
        do_release(held);
    } else if (held != NULL) {
        do_ask(held);
    }
    nested_step();
    actor->in_state = outer;
}

static inline struct box *box_to_open(void)
{
    struct box *found = NULL;
    lock_world();
    for (int i = 0;
         i < BOXES && found == NULL && !atomic_load(&world.is_ending); i++) {
        struct box *box = &world.boxes[i];
        if (box->client == NULL && box->users == 0 && box->ops == 0) {
            found = box;
            found->users = 1;
        }
    }
    unlock_world();
    return found;
}

static inline void do_open(void)
{
    struct box *box = box_to_open();
    struct hf_client_options options;
    struct hf_client *client = NULL;
    struct hf_error error = {0};
    if (box == NULL) {
        return;
    }
    hf_client_options_init(&options);
    options.thread = draw(2) == 0 ? HF_THREAD_NONE : HF_THREAD_AUTO;
    options.on_state = draw(3) != 0 ? on_state : NULL;
    options.state_user = box;
    options.cancel = draw(6) == 0 ? new_token() : NULL;
    calls("hf_client_open");
    enum hf_status status =
        hf_client_open(world_url(), &options, &client, &error);
    count("hf_client_open", status);
    if (status != HF_OK) {
        wrong("open: %s", error.text);
    }
    lock_world();
    box->client = client;
    box->cancel = options.cancel;
    box->is_serial = draw(3) != 0;
    box->users = 0;
    atomic_store(&box->may_cancel, false);
    atomic_store(&box->is_closing, false);
    if (box->cancel != NULL) {
        world.garbage[world.n_garbage++] = box->cancel;
    }
    unlock_world();
}

/* If no other thread is in a call on it. */
static inline struct hf_client *box_begin_close(struct box *box)
{
    struct hf_client *client = NULL;
    lock_world();
    if (box_is_open(box) && box->users == self()->inside[box_idx(box)]) {
        client = box->client;
        box->client = NULL;
        box->cancel = NULL;
        atomic_store(&box->may_cancel,
                     atomic_load(&box->may_cancel) || box_is_outer(box));
        atomic_store(&box->is_closing, true);
        held_drop_all(box);
    }
    unlock_world();
    return client;
}

static inline void box_close(struct box *box)
{
    struct hf_client *client = box_begin_close(box);
    if (client == NULL) {
        return;
    }
    bool is_outer = box_is_outer(box);
    const char *call =
        is_outer ? "hf_client_close, in a callback" : "hf_client_close";
    calls(call);
    self()->looping[box_idx(box)]++;
    hf_client_close(client);
    self()->looping[box_idx(box)]--;
    count(call, HF_OK);
    if (is_outer) {
        check_refused(client);
        return;
    }
    lock_world();
    for (const struct op *op = ops; op != NULL; op = op->next) {
        if (op->client == client && op->state == OP_PENDING) {
            wrong("%s has not ended", op->call);
        }
    }
    unlock_world();
}

static inline void do_close(void)
{
    box_close(&world.boxes[draw(BOXES)]);
}

static inline void do_process(struct box *box)
{
    calls("hf_client_fd");
    struct pollfd fd = {.fd = hf_client_fd(box->client), .events = POLLIN};
    count("hf_client_fd", fd.fd < 0 ? HF_INTERNAL : HF_OK);
    if (box->is_serial && pthread_mutex_trylock(&box->loop) != 0) {
        return;
    }
    (void)poll(&fd, 1, (int)draw(5));
    calls("hf_client_process");
    self()->looping[box_idx(box)]++;
    hf_client_process(box->client);
    self()->looping[box_idx(box)]--;
    count("hf_client_process", HF_OK);
    if (box->is_serial) {
        pthread_mutex_unlock(&box->loop);
    }
}

static inline void do_next_event(struct box *box)
{
    enum hf_state state = HF_STATE_RELEASED;
    calls("hf_client_next_event");
    struct hf_lock *lock = hf_client_next_event(box->client, &state);
    count("hf_client_next_event", lock == NULL ? HF_BUSY : HF_OK);
    if (lock != NULL && state == HF_STATE_RELEASED) {
        wrong("a change to RELEASED");
    }
}

static inline void do_interrupt(struct box *box)
{
    atomic_store(&box->may_cancel, true);
    calls("hf_client_interrupt");
    hf_client_interrupt(box->client);
    count("hf_client_interrupt", HF_OK);
}

static inline void do_trigger(struct box *box)
{
    if (box->cancel != NULL && draw(4) == 0) {
        atomic_store(&box->may_cancel, true);
        calls("hf_cancel_trigger");
        hf_cancel_trigger(box->cancel);
        count("hf_cancel_trigger", HF_OK);
    }
}

static inline void do_node(struct box *box)
{
    struct hf_node *node = NULL;
    int nodes = hf_client_nodes(box->client);
    int idx = (int)draw((unsigned)nodes + 1);
    calls("hf_client_node");
    enum hf_status status = hf_client_node(box->client, idx, &node);
    expect(box, "hf_client_node", idx == nodes ? BIT(HF_INVALID) : BIT(HF_OK),
           status, NULL);
    if (status == HF_OK && hf_node_address(node)[0] == '\0') {
        wrong("a node without address");
    }
    hf_node_free(node);
}

static inline void on_finding(void *user, const struct hf_finding *finding)
{
    (void)user;
    if (hf_finding_text(finding)[0] == '\0') {
        wrong("a finding without text");
    }
    nested_step();
}

static inline void do_admin(struct box *box)
{
    struct hf_error error;
    enum hf_status status;
    unsigned which = draw(3);
    if (which == 0) {
        calls("hf_client_diagnose");
        status = hf_client_diagnose(box->client, on_finding, NULL, &error);
        expect(box, "hf_client_diagnose", BIT(HF_OK), status, &error);
    } else if (which == 1) {
        calls("hf_client_init_nodes");
        status = hf_client_init_nodes(box->client, 0, on_finding, NULL, &error);
        expect(box, "hf_client_init_nodes",
               COMMON | BIT(HF_BUSY) | BIT(HF_CONFIG), status, &error);
    } else {
        calls("hf_client_quarantine_node");
        status =
            hf_client_quarantine_node(box->client, 0, on_finding, NULL, &error);
        expect(box, "hf_client_quarantine_node",
               BIT(HF_UNSUPPORTED) | BIT(HF_CONFIG) | BIT(HF_UNAVAILABLE),
               status, &error);
    }
}

#endif
