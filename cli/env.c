/* SPDX-License-Identifier: Apache-2.0 */
/* What an outer `holdfast run` has set is replaced or removed: without a
 * permit HOLDFAST_SLOT is unset, or a script would take that one's permit for
 * its own. Rooms are for the most names that a call takes, so nothing is cut.
 */
#include "env.h"

#include "out.h"

#include <stdlib.h>
#include <string.h>

/* Digits of a fence, and a blank. */
#define FENCE_ROOM 21

/* One name per line, so that a shell can read names with blanks:
 * while IFS= read -r name. */
static void export_names(const struct cli_args *args)
{
    char text[HF_NAMES_MAX * (HF_NAME_MAX + 1)];
    struct cli_out out;
    cli_out_init_text(&out, text, sizeof(text));
    for (size_t i = 0; i < args->n_names; i++) {
        cli_out_text(&out, i > 0 ? "\n" : "");
        cli_out_bytes(&out, args->names[i].name, args->names[i].name_len);
    }
    (void)setenv("HOLDFAST_NAMES", text, 1);
}

static void export_fences(size_t n, const struct hf_lock *lock)
{
    char text[HF_NAMES_MAX * FENCE_ROOM];
    struct cli_out out;
    cli_out_init_text(&out, text, sizeof(text));
    for (size_t i = 0; i < n; i++) {
        cli_out_text(&out, i > 0 ? " " : "");
        cli_out_uint(&out, lock != NULL ? hf_lock_fence_at(lock, i) : 0);
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

bool cli_env_is_of(const char *name, const char *owner)
{
    const char *at = getenv("HOLDFAST_NAMES");
    const char *only = getenv("HOLDFAST_NAME");
    size_t len = strlen(name);
    bool is_listed = only != NULL && strcmp(only, name) == 0;
    for (; at != NULL && !is_listed; at = at[0] != '\0' ? at + 1 : NULL) {
        size_t line = strcspn(at, "\n");
        is_listed = line == len && memcmp(at, name, len) == 0;
        at += line;
    }
    return is_listed && strchr(owner, '/') == NULL;
}

void cli_env(const struct cli_args *args, const struct hf_lock *lock)
{
    (void)setenv("HOLDFAST_NAME", args->name, 1);
    export_names(args);
    export_fences(args->n_names, lock);
    export_owners(args->n_names, lock);
    export_slot(lock);
}
