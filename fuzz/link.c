/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between wrapper and keeper, and the last timer. A message arrives as
 * it was sent. Any other bytes end the connection, are never taken for a
 * message, and never block the reader. For every deadline that the timer is set
 * to: only "never" disables it, and a deadline in the past expires at once.
 *
 * Input: moves, each a byte and its argument. The sockets and the timer are
 * real. */
#include "clocks.h"
#include "fuzz.h"

#include "run/ipc.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MOVES_MAX 64

static void close_link(struct cli_ipc *link)
{
    for (size_t i = 0; i < 2; i++) {
        if (link->fds[i] >= 0) {
            (void)close(link->fds[i]);
        }
    }
    (void)close(link->last_timer);
    (void)munmap(link->shared, sizeof(*link->shared));
}

static void check_word(const struct cli_ipc *link, struct fuzz_input *in)
{
    struct cli_ipc_word word;
    uint64_t what = fuzz_u64(in);
    int32_t value = (int32_t)(what >> 32);
    /* The messages; NONE and GONE are never sent. */
    int32_t kind = (int32_t)(CLI_LINK_SIGNAL + what % 4);
    cli_ipc_send(link->fds[0], (enum cli_ipc_kind)kind, value);
    word = cli_ipc_read(link->fds[1]);
    FUZZ_CHECK(word.kind == kind && word.value == value);
    FUZZ_CHECK(cli_ipc_read(link->fds[1]).kind == CLI_LINK_NONE);
}

/* Not the length of a message. */
static void check_bytes(const struct cli_ipc *link, struct fuzz_input *in)
{
    size_t len = fuzz_u8(in);
    const uint8_t *bytes = fuzz_bytes(in, &len);
    if (len == 0 || len == sizeof(struct cli_ipc_word)) {
        return;
    }
    FUZZ_CHECK(send(link->fds[0], bytes, len, MSG_NOSIGNAL) == (ssize_t)len);
    struct cli_ipc_word word = cli_ipc_read(link->fds[1]);
    FUZZ_CHECK(word.kind == CLI_LINK_GONE);
}

static void check_last_timer(const struct cli_ipc *link, struct fuzz_input *in)
{
    struct itimerspec left;
    uint64_t any = fuzz_u64(in);
    struct hf_instant at =
        any % 8 == 0 ? HF_NEVER : (struct hf_instant){(int64_t)any};
    cli_ipc_set_last_timer(link, at);
    bool is_over = !hf_instant_before(cli_time_now(), at);
    FUZZ_CHECK(timerfd_gettime(link->last_timer, &left) == 0);
    bool is_set = left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0;
    FUZZ_CHECK(left.it_interval.tv_sec == 0 && left.it_interval.tv_nsec == 0);
    FUZZ_CHECK(hf_instant_is_never(at) ? !is_set : is_set || is_over);
    FUZZ_CHECK(cli_ipc_read_last_timer(link) == is_over);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct cli_ipc link;
    FUZZ_CHECK(cli_ipc_open(&link));
    for (unsigned i = 0; in.left > 0 && i < MOVES_MAX; i++) {
        switch (fuzz_u8(&in) % 3) {
        case 0:
            check_word(&link, &in);
            break;
        case 1:
            check_bytes(&link, &in);
            break;
        default:
            check_last_timer(&link, &in);
            break;
        }
    }
    (void)close(link.fds[0]);
    link.fds[0] = -1;
    FUZZ_CHECK(cli_ipc_read(link.fds[1]).kind == CLI_LINK_GONE);
    close_link(&link);
    return 0;
}
