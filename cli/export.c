/* SPDX-License-Identifier: Apache-2.0 */
#include "export.h"

#include "out.h"

#include <stdlib.h>

/* Digits of a fence, and a blank. */
#define FENCE_ROOM 21

static void export_fences(size_t n, const struct hf_lock *lock)
{
    char text[HF_NAMES_MAX * FENCE_ROOM];
    struct cli_out out;
    cli_out_init_text(&out, text, sizeof(text));
    for (size_t i = 0; i < n; i++) {
        cli_out_text(&out, i > 0 ? " " : "");
        cli_out_fence(&out, lock != NULL ? hf_lock_fence_at(lock, i) : 0);
    }
    (void)setenv("HOLDFAST_FENCE", text, 1);
}

static void export_owners(size_t n, const struct hf_lock *lock)
{
    char text[HF_NAMES_MAX * HF_OWNER_TEXT_MAX];
    char owner[HF_OWNER_TEXT_MAX];
    struct cli_out out;
    cli_out_init_text(&out, text, sizeof(text));
    for (size_t i = 0; i < n && lock != NULL; i++) {
        hf_lock_owner_at(lock, i, owner);
        cli_out_text(&out, i > 0 ? " " : "");
        cli_out_text(&out, owner);
    }
    (void)setenv("HOLDFAST_OWNER", text, 1);
}

static void export_slot(const struct hf_lock *lock)
{
    char text[FENCE_ROOM];
    struct cli_out out;
    if (lock == NULL || hf_lock_slot(lock) < 0) {
        (void)unsetenv("HOLDFAST_SLOT");
        return;
    }
    cli_out_init_text(&out, text, sizeof(text));
    cli_out_int(&out, hf_lock_slot(lock));
    (void)setenv("HOLDFAST_SLOT", text, 1);
}

void cli_export(const struct cli_args *args, const struct hf_lock *lock)
{
    (void)setenv("HOLDFAST_NAME", args->name, 1);
    export_fences(args->n_names, lock);
    export_owners(args->n_names, lock);
    export_slot(lock);
}
