/* SPDX-License-Identifier: Apache-2.0 */
/* The store reports the owner of the name. The environments of our ancestors
 * have the owners of the locks under which they run. An owner has 128 random
 * bits, so equal owners mean the same lock in the same store, even if the URLs
 * differ.
 *
 * Our own environment has the innermost lock, and those of our ancestors have
 * the outer ones; a script may have put there what acquire printed. /proc shows
 * an environment as it was when the program was started, to the same user. The
 * walk ends at the first process that cannot be read: then nesting is not
 * detected, and the wait ends at its timeout. Cost: nothing unless
 * HOLDFAST_OWNER is set; then one request per name, a second one if it is
 * shared, and one walk if any name is held. */
#include "nested.h"

#include "exit_code.h"
#include "message.h"
#include "out.h"
#include "procfs.h"
#include "snapshot.h"
#include "text_size.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Most ancestors that are examined: a chain of processes has some ten to
 * twenty. The bound ends the walk if process numbers are reused meanwhile so
 * that it goes in a circle. */
#define DEPTH_MAX 256

/* Bytes, for each ancestor in turn. An entry of an environment has at most
 * 128 KiB, and all arguments and entries together have at most 2 MiB at the
 * usual stack limit of 8 MiB; the owner is searched in the first MiB. */
#define ENVIRON_MAX (1 << 20)

#define KEY "HOLDFAST_OWNER="

/* The position of `owner` in `text`: OWNER@FENCE, separated by blanks; an owner
 * has no blank. NULL: it is not there. */
static const char *find_owner(const char *text, const char *owner)
{
    size_t len = strlen(owner);
    while (len > 0 && text != NULL) {
        if (strncmp(text, owner, len) == 0 && text[len] == '@') {
            return text;
        }
        const char *blank = strchr(text, ' ');
        text = blank != NULL ? blank + 1 : NULL;
    }
    return NULL;
}

/* The texts of acquire and extend end with the ttl, those of run do not. */
static bool is_of_acquire(const char *text)
{
    return memchr(text, '/', strcspn(text, " ")) != NULL;
}

/* The owners of the locks under which this process runs, separated by blanks.
 * Read when first needed: each ancestor costs files of /proc. */
struct above {
    char *owners;
    bool is_of_acquire; /* the one that was found */
};

static void add(struct above *above, const char *owners)
{
    size_t len = above->owners != NULL ? strlen(above->owners) : 0;
    size_t more = strlen(owners);
    char *text = realloc(above->owners, len + more + 2);
    if (text != NULL) {
        above->owners = text;
        text[len] = ' ';
        memcpy(text + len + 1, owners, more + 1);
    }
}

static void add_of(struct above *above, int proc, pid_t pid, char *buf)
{
    char path[CLI_PROC_PATH_MAX];
    cli_procfs_path(path, pid, "/environ");
    ssize_t len = cli_procfs_read(proc, path, buf, ENVIRON_MAX);
    for (ssize_t i = 0; i < len; i += (ssize_t)strlen(buf + i) + 1) {
        if (strncmp(buf + i, KEY, strlen(KEY)) == 0) {
            add(above, buf + i + strlen(KEY));
        }
    }
}

static void collect(struct above *above)
{
    char *buf = malloc(ENVIRON_MAX);
    int proc = cli_procfs_open();
    pid_t pid = cli_procfs_parent(proc, getpid());
    const char *ours = getenv("HOLDFAST_OWNER");
    add(above, ours != NULL ? ours : "");
    for (int i = 0; buf != NULL && pid > 1 && i < DEPTH_MAX; i++) {
        add_of(above, proc, pid, buf);
        pid = cli_procfs_parent(proc, pid);
    }
    if (proc >= 0) {
        (void)close(proc);
    }
    free(buf);
}

static bool find_above(struct above *above, const char *owner)
{
    if (above->owners == NULL) {
        collect(above);
    }
    const char *found =
        above->owners != NULL ? find_owner(above->owners, owner) : NULL;
    above->is_of_acquire = found != NULL && is_of_acquire(found);
    return found != NULL;
}

/* The same for a shared name: compare each sharer. */
struct search {
    struct above *above;
    bool found;
};

static bool look_at(void *user, const struct hf_queue_entry *entry)
{
    struct search *search = user;
    search->found = !hf_queue_entry_is_waiting(entry) &&
                    find_above(search->above,
                               hf_holder_owner(hf_queue_entry_holder(entry)));
    return !search->found;
}

static bool holds(struct hf_client *client, const struct hf_name *name,
                  struct above *above, enum hf_kind *kind)
{
    struct cli_info info;
    struct search search = {above, false};
    if (cli_inspect(client, name->name, name->name_len, &info, NULL) != HF_OK) {
        return false;
    }
    *kind = info.holder.kind;
    if (*kind == HF_HOLDER_SHARED &&
        hf_client_queue(client, name->name, name->name_len, look_at, &search,
                        NULL) != HF_OK) {
        return false;
    }
    return search.found || (*kind == HF_HOLDER_HOLDFAST &&
                            find_above(above, info.holder.owner));
}

static int refuse(const struct hf_name *name, bool is_of_acquire,
                  bool is_both_shared)
{
    char text[CLI_LINE_MAX];
    struct cli_out out;
    cli_out_init_text(&out, text, sizeof(text));
    cli_out_text(&out, is_of_acquire
                           ? "held by an owner in HOLDFAST_OWNER, from "
                             "`holdfast acquire`: "
                           : "held by the `holdfast run` that this one runs "
                             "under: ");
    cli_out_text(&out, is_both_shared
                           ? "sharing it twice, it would wait for itself "
                             "behind the first that waits for it alone; "
                           : "it would wait for itself; ");
    cli_out_text(&out, is_of_acquire ? "release that lock first, or leave this "
                                       "one out"
                                     : "leave this one out");
    return cli_message(CLI_EXIT_USAGE, name->name, text);
}

int cli_nested_refuse(struct hf_client *client, const struct cli_args *args)
{
    enum hf_kind kind = HF_HOLDER_NONE;
    struct above above = {.owners = NULL};
    int code = 0;
    bool is_inside = getenv("HOLDFAST_OWNER") != NULL;
    for (size_t i = 0; is_inside && code == 0 && i < args->n_names; i++) {
        if (holds(client, &args->names[i], &above, &kind)) {
            code = refuse(&args->names[i], above.is_of_acquire,
                          args->is_shared && kind == HF_HOLDER_SHARED);
        }
    }
    free(above.owners);
    return code;
}
