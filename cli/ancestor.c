/* SPDX-License-Identifier: Apache-2.0 */
/* The store says who owns the name; our ancestors' environments say which
 * locks they were started under. An owner is 128 random bits: the same in both
 * places is the same lock in the same store, whatever their URLs look like.
 *
 * Our own environment has the innermost lock. Those above it stand in the
 * environments of the processes above us, which /proc shows as they were when
 * the program was started, to the same user. The walk ends where nothing can
 * be read: such an ancestor is not found, and the wait is only as long as was
 * asked for. Cost: nothing unless HOLDFAST_OWNER is set, then one question to
 * the store, and a walk only if the name is taken. */
#include "ancestor.h"

#include "out.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No sane tree is deeper; an insane one must not keep us. */
#define DEPTH_MAX 256

/* Environments are at most 128 KiB an entry; the owner is looked for in the
 * first megabyte. */
#define ENVIRON_MAX (1 << 20)

#define KEY "HOLDFAST_OWNER="

/* Is `text` OWNER@FENCE of `owner`? */
static bool is_owner(const char *text, const char *owner)
{
    size_t len = strlen(owner);
    return len > 0 && strncmp(text, owner, len) == 0 && text[len] == '@';
}

static ssize_t read_proc(pid_t pid, const char *what, char *text, size_t room)
{
    char path[64];
    struct cli_out out;
    size_t len = 0;
    ssize_t n;
    cli_out_init_text(&out, path, sizeof(path));
    cli_out_text(&out, "/proc/");
    cli_out_int(&out, pid);
    cli_out_text(&out, what);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    while ((n = read(fd, text + len, room - 1 - len)) > 0) {
        len += (size_t)n;
    }
    (void)close(fd);
    text[len] = '\0';
    return n < 0 ? -1 : (ssize_t)len;
}

static pid_t parent_of(pid_t pid)
{
    char text[1024];
    if (read_proc(pid, "/stat", text, sizeof(text)) <= 0) {
        return 0;
    }
    /* "PID (COMM) S PPID …", where COMM may have blanks and parentheses. */
    const char *end = strrchr(text, ')');
    return end != NULL && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10)
                                          : 0;
}

static bool ran_under(pid_t pid, const char *owner, char *buf)
{
    ssize_t len = read_proc(pid, "/environ", buf, ENVIRON_MAX);
    for (ssize_t i = 0; i < len; i += (ssize_t)strlen(buf + i) + 1) {
        if (strncmp(buf + i, KEY, strlen(KEY)) == 0 &&
            is_owner(buf + i + strlen(KEY), owner)) {
            return true;
        }
    }
    return false;
}

static bool descends_from(const char *owner)
{
    bool found = false;
    char *buf = malloc(ENVIRON_MAX);
    pid_t pid = getpid();
    for (int i = 0; buf != NULL && !found && pid > 1 && i < DEPTH_MAX; i++) {
        pid = parent_of(pid);
        found = pid > 1 && ran_under(pid, owner, buf);
    }
    free(buf);
    return found;
}

bool cli_ancestor_holds(struct hf_client *client,
                        const struct hf_request *request)
{
    const char *innermost = getenv("HOLDFAST_OWNER");
    struct hf_info info;
    if (innermost == NULL ||
        hf_client_inspect(client, request->name, request->name_len, &info,
                          NULL) != HF_OK ||
        info.holder.kind != HF_HOLDER_OURS) {
        return false;
    }
    return is_owner(innermost, info.holder.owner) ||
           descends_from(info.holder.owner);
}
