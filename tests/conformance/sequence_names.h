/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of client_sequences.c that are about a name, and values. */
#ifndef SEQUENCE_NAMES_H
#define SEQUENCE_NAMES_H

#include "sequence_locks.h"

/* ---- Of a name ----------------------------------------------------------- */

static inline void do_inspect(struct box *box)
{
    struct hf_info *info = NULL;
    struct hf_error error;
    const struct known *known = any_name();
    calls("hf_client_inspect");
    enum hf_status status = hf_client_inspect(
        box->client, known->text, strlen(known->text), &info, &error);
    expect(box, "hf_client_inspect", COMMON, status, &error);
    hf_info_free(info);
}

static inline void do_queue(struct box *box)
{
    struct hf_error error;
    const struct known *known = any_name();
    calls("hf_client_queue");
    enum hf_status status = hf_client_queue(
        box->client, known->text, strlen(known->text), on_entry, NULL, &error);
    expect(box, "hf_client_queue", COMMON, status, &error);
}

static inline void do_list(struct box *box)
{
    struct hf_error error;
    calls("hf_client_list");
    enum hf_status status = hf_client_list(
        box->client, draw(2) == 0 ? NULL : "s*", on_name, NULL, &error);
    expect(box, "hf_client_list", COMMON, status, &error);
}

static inline void do_marked(struct box *box)
{
    struct hf_error error;
    int64_t left_ms = -1;
    const struct known *known = any_name();
    calls("hf_client_marked");
    enum hf_status status = hf_client_marked(
        box->client, known->text, strlen(known->text), &left_ms, &error);
    expect(box, "hf_client_marked", COMMON, status, &error);
    if (status == HF_OK && (left_ms < 0 || left_ms > 1000)) {
        wrong("marked for %lld ms", (long long)left_ms);
    }
}

#define BROKEN (COMMON | BIT(HF_UNKNOWN))

static inline void do_break(struct box *box)
{
    struct hf_error error;
    const struct known *known = broken_name();
    size_t len = strlen(known->text);
    enum hf_status status;
    if (draw(3) == 0) {
        calls("hf_client_break_wait");
        status = hf_client_break_wait(box->client, known->text, len, on_wait,
                                      NULL, &error);
        expect(box, "hf_client_break_wait", BROKEN | BIT(HF_BUSY), status,
               &error);
    } else {
        int64_t until_ms = 0;
        calls("hf_client_break");
        status = hf_client_break(box->client, known->text, len, draw(4) != 0,
                                 &until_ms, &error);
        expect(box, "hf_client_break", BROKEN, status, &error);
    }
}

static inline void do_start_look(struct box *box)
{
    static const char *const texts[] = {"hf_op_start_inspect",
                                        "hf_op_start_queue", "hf_op_start_list",
                                        "hf_op_start_break"};
    struct hf_error error;
    unsigned which = draw(4);
    const char *name = which == 3 ? broken_name()->text : any_name()->text;
    size_t len = strlen(name);
    struct op *op = op_begin(box, texts[which],
                             which == 3 ? BROKEN | BIT(HF_BUSY) : COMMON);
    struct hf_client *client = box->client;
    enum hf_status status = HF_OK;
    if (which == 0) {
        status = hf_op_start_inspect(client, name, len, on_info, op, &op->op,
                                     &error);
    } else if (which == 1) {
        status = hf_op_start_queue(client, name, len, on_entry, on_lock, op,
                                   &op->op, &error);
    } else if (which == 2) {
        status = hf_op_start_list(client, draw(2) == 0 ? NULL : "*", on_name,
                                  on_lock, op, &op->op, &error);
    } else {
        status = hf_op_start_break(client, name, len, draw(3) != 0,
                                   draw(2) == 0 ? NULL : on_wait, on_broken, op,
                                   &op->op, &error);
    }
    op_started(op, 0, status, &error);
}

/* ---- Values -------------------------------------------------------------- */

#define WRITTEN (COMMON | BIT(HF_BUSY) | BIT(HF_UNKNOWN))

static inline void value_name(char name[64], const char *what)
{
    snprintf(name, 64, "%s-%s", world.names[0].text, what);
}

static inline void do_value_put(struct box *box)
{
    struct hf_value *value = NULL;
    struct hf_error error;
    char name[64];
    uint64_t version = HF_VERSION_ANY;
    value_name(name, "put");
    lock_world();
    uint64_t before = world.version;
    unlock_world();
    if (draw(2) == 0) {
        calls("hf_value_get");
        enum hf_status got =
            hf_value_get(box->client, name, strlen(name), &value, &error);
        expect(box, "hf_value_get", COMMON, got, &error);
        version = hf_value_version(value);
        hf_value_free(value);
        if (got != HF_OK || atomic_load(&box->is_closing)) {
            return;
        }
    }
    size_t len = draw(100) == 0 ? HF_VALUE_MAX : draw(50);
    char *data = calloc(1, len + 1);
    bool deletes = version != 0 && draw(4) == 0;
    calls("hf_value_put");
    enum hf_status status =
        hf_value_put(box->client, name, strlen(name), deletes ? NULL : data,
                     deletes ? 0 : len, version, &version, &error);
    free(data);
    expect(box, "hf_value_put", WRITTEN, status, &error);
    if (status == HF_OK && deletes != (version == 0)) {
        wrong("a deletion with version %llu", (unsigned long long)version);
    }
    if (status == HF_OK && !deletes) {
        lock_world();
        if (version <= before) {
            wrong("version %llu after %llu", (unsigned long long)version,
                  (unsigned long long)before);
        }
        world.version = version > world.version ? version : world.version;
        unlock_world();
    }
}

struct update {
    char text[32];
    bool refuses;
};

static inline enum hf_status on_change(void *user, const struct hf_value *value,
                                       const void **data, size_t *len)
{
    struct update *update = user;
    const char *text = hf_value_data(value, NULL);
    unsigned long number = text == NULL ? 0 : strtoul(text, NULL, 10);
    snprintf(update->text, sizeof(update->text), "%lu", number + 1);
    *data = update->text;
    *len = strlen(update->text);
    nested_step();
    update->refuses = draw(8) == 0;
    return update->refuses ? HF_DENIED : HF_OK;
}

static inline void do_value_update(struct box *box)
{
    struct update update = {.refuses = false};
    struct hf_error error;
    char name[64];
    value_name(name, "count");
    calls("hf_value_update");
    enum hf_status status =
        hf_value_update(box->client, name, strlen(name), draw(50), on_change,
                        &update, NULL, &error);
    expect(box, "hf_value_update",
           WRITTEN | (update.refuses ? BIT(HF_DENIED) : 0U), status, NULL);
    lock_world();
    world.updates += status == HF_OK;
    world.unsure += status != HF_OK && status != HF_BUSY && status != HF_DENIED;
    unlock_world();
}

#endif
