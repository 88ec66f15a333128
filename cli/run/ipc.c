/* SPDX-License-Identifier: Apache-2.0 */
#include "run/ipc.h"

#include "base/assert.h"
#include "clocks.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

bool cli_ipc_open(struct cli_ipc *link)
{
    link->shared = mmap(NULL, sizeof(*link->shared), PROT_READ | PROT_WRITE,
                        /* cppcheck-suppress invalidFunctionArg; no file */
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (link->shared == MAP_FAILED) {
        return false;
    }
    link->wrapper = getpid();
    link->wrapper_group = getpgrp();
    link->last_timer =
        timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (link->last_timer < 0) {
        return false;
    }
    /* SEQPACKET keeps message boundaries, and has an end of file. */
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link->fds) ==
           0;
}

void cli_ipc_set_last_timer(const struct cli_ipc *link, struct hf_instant at)
{
    cli_time_set_timer(link->last_timer, at);
}

bool cli_ipc_read_last_timer(const struct cli_ipc *link)
{
    uint64_t ticks;
    return read(link->last_timer, &ticks, sizeof(ticks)) ==
           (ssize_t)sizeof(ticks);
}

bool cli_ipc_send(int fd, enum cli_ipc_kind kind, int value)
{
    struct cli_ipc_word word = {.kind = (int32_t)kind, .value = value};
    HF_ASSERT(kind > CLI_LINK_GONE); /* those two are no messages */
    return send(fd, &word, sizeof(word), MSG_DONTWAIT | MSG_NOSIGNAL) ==
           (ssize_t)sizeof(word);
}

struct cli_ipc_word cli_ipc_read(int fd)
{
    struct cli_ipc_word word = {.kind = CLI_LINK_NONE};
    /* MSG_TRUNC returns the original length, so a longer message is detected.
     */
    ssize_t n = recv(fd, &word, sizeof(word), MSG_DONTWAIT | MSG_TRUNC);
    if (n == (ssize_t)sizeof(word)) {
        HF_ASSERT(word.kind > CLI_LINK_GONE && word.kind <= CLI_LINK_STOPPED);
        return word;
    }
    bool is_quiet = n < 0 && (errno == EAGAIN || errno == EINTR);
    word.kind = is_quiet ? CLI_LINK_NONE : CLI_LINK_GONE;
    return word;
}
