/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper of acquire --while-pid after it acquired the lock. If renewal
 * fails, it only sends SIGTERM, a quarter of the ttl before the lease ends: the
 * process is not a child of the keeper, which cannot find its descendants.
 *
 * Cost: a process for each lock, and its connection to the store. It sleeps in
 * one poll(); each event costs one more, to see whether the process has ended.
 */
#include "clocks.h"
#include "run/while_pid.h"

#include "base/assert.h"
#include "exit_code.h"
#include "message.h"
#include "run/lost_to.h"
#include "store.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* The grace is a quarter of the lease, and never more, as in keeper_deadline.c.
 */
#define GRACE_MS_MAX 10000

/* A release takes node_timeout at most; the rest is for a busy machine. */
#define RELEASE_MS_MAX 10000

/* Hexadecimal digits at the beginning of an owner: its 128 random bits. */
#define ID_LEN 32

static const char prefix[] = "holdfast-keeper-";

/* ---- The socket --------------------------------------------------------- */

/* An abstract address, which leaves no file. @return its length; 0: `owner` is
 * no owner text. */
static socklen_t address_of(const char *owner, struct sockaddr_un *address)
{
    char *path = address->sun_path + 1;
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    if (strcspn(owner, ":") != ID_LEN) {
        return 0;
    }
    memcpy(path, prefix, sizeof(prefix) - 1);
    memcpy(path + sizeof(prefix) - 1, owner, ID_LEN);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       sizeof(prefix) - 1 + ID_LEN);
}

/* All clients of the store can read owners, so the address proves nothing: the
 * peer's user is checked. */
static bool is_trusted(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

void cli_while_listen(struct cli_while *keep)
{
    char owner[HF_OWNER_TEXT_MAX];
    struct sockaddr_un address;
    hf_lock_owner(keep->lock, owner);
    socklen_t len = address_of(owner, &address);
    HF_ASSERT(len > 0 && len <= sizeof(address)); /* an owner of our own */
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 &&
        (bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, 8) < 0)) {
        (void)close(fd);
        fd = -1;
    }
    keep->listener = fd;
    cli_note_open(&keep->note, owner, keep->args->name);
}

static int receive_status(int fd, const char *name)
{
    unsigned char status = 0;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (send(fd, name, strlen(name), MSG_NOSIGNAL) < 0 ||
        poll(&ready, 1, RELEASE_MS_MAX) <= 0 || recv(fd, &status, 1, 0) != 1) {
        return -1;
    }
    return status;
}

int cli_while_release(const char *owner, const char *name)
{
    struct sockaddr_un address;
    int status = cli_note_ask(owner, name);
    if (status != CLI_NOTE_NONE) {
        return status;
    }
    socklen_t len = address_of(owner, &address);
    int fd = len > 0 ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0) : -1;
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, len) == 0 &&
        is_trusted(fd)) {
        status = receive_status(fd, name);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

static void drop_peer(struct cli_while *keep)
{
    HF_ASSERT(keep->peer >= 0);
    (void)close(keep->peer);
    keep->peer = -1;
}

static void accept_peer(struct cli_while *keep)
{
    int fd = accept4(keep->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return;
    }
    if (keep->peer >= 0) {
        drop_peer(keep);
    }
    keep->peer = fd;
    if (!is_trusted(fd)) {
        drop_peer(keep);
    }
}

/* The request is the name. If it is not our lock, there is no reply; the caller
 * then sends RELEASE to the store, which refuses it. */
static void serve_peer(struct cli_while *keep)
{
    char name[HF_NAME_MAX + 1];
    const struct hf_name *own = &keep->args->names[0];
    HF_ASSERT(keep->lock != NULL); /* a lock is released once */
    ssize_t len = recv(keep->peer, name, sizeof(name), 0);
    if (len < 0 && errno == EAGAIN) {
        return;
    }
    if (len == (ssize_t)own->name_len &&
        memcmp(name, own->name, own->name_len) == 0) {
        unsigned char status = (unsigned char)hf_lock_release(keep->lock);
        keep->lock = NULL;
        (void)send(keep->peer, &status, 1, MSG_NOSIGNAL);
    }
    drop_peer(keep);
}

/* ---- Losing the lock ---------------------------------------------------- */

bool cli_while_is_over(const struct cli_while *keep)
{
    struct pollfd ended = {.fd = keep->pidfd, .events = POLLIN};
    return poll(&ended, 1, 0) > 0;
}

static int64_t grace_ms(const struct cli_while *keep)
{
    int64_t ms = keep->ttl_ms / 4;
    HF_ASSERT(keep->ttl_ms > 0);
    if (keep->args->on_lost == CLI_LOST_WARN) {
        return 0;
    }
    return ms < GRACE_MS_MAX ? ms : GRACE_MS_MAX;
}

/* The time to signal has passed by a quarter of the lease: we did not run. */
static bool was_asleep(const struct cli_while *keep)
{
    struct hf_instant due =
        hf_instant_sub(keep->deadline, hf_span_ms(grace_ms(keep)));
    struct hf_span late = hf_instant_until(due, cli_time_now());
    return late.ns > hf_span_div(hf_span_ms(keep->ttl_ms), 4).ns;
}

static void begin_line(struct cli_out *out, const struct cli_while *keep,
                       bool is_lost)
{
    cli_message_begin_brief(out);
    (void)cli_out_shown(out, keep->args->name, strlen(keep->args->name));
    struct hf_span left = hf_instant_until(cli_time_now(), keep->deadline);
    if (is_lost && left.ns >= 0) {
        struct cli_lost lost;
        cli_lost_look(&lost, keep->client, keep->lock, keep->args,
                      hf_span_ms_floor(left));
        cli_out_text(out, ": ");
        cli_lost_put(out, &lost);
    } else if (was_asleep(keep)) {
        cli_out_text(out, ": the lock is lost: it could not be renewed while "
                          "its keeper or this machine was stopped");
    } else {
        cli_out_text(out, ": the lock could not be kept");
        cli_store_put_nodes(out, keep->client);
    }
    cli_out_text(out, "; process ");
    cli_out_int(out, keep->pid);
}

/* Signal the process once: at the loss, or earlier by the time that it gets to
 * end. */
static void on_loss(struct cli_while *keep, bool is_lost)
{
    struct cli_out out;
    bool is_kill = keep->args->on_lost == CLI_LOST_KILL;
    if (keep->is_signalled) {
        return;
    }
    bool is_sent = is_kill && syscall(SYS_pidfd_send_signal, keep->pidfd,
                                      SIGTERM, NULL, 0) == 0;
    if (cli_message_fits(STDERR_FILENO)) {
        begin_line(&out, keep, is_lost);
        cli_out_text(&out, is_sent   ? " was sent SIGTERM"
                           : is_kill ? " could not be sent SIGTERM and goes on"
                                     : " goes on (--on-lost warn)");
        (void)cli_message_end(&out, 0);
    }
    keep->is_signalled = true;
}

/* @return the time until the next action; -1: the lock is lost or released. The
 * note is read after the lock: `release` writes it before it asks the store. */
static int64_t check_lock(struct cli_while *keep)
{
    bool is_lost = hf_lock_state(keep->lock) == HF_STATE_LOST;
    int64_t left_ms = hf_lock_remaining_ms(keep->lock);
    if (cli_note_read_asked(&keep->note)) {
        cli_note_answer(&keep->note, (int)hf_lock_release(keep->lock));
        keep->lock = NULL;
        return -1;
    }
    if (is_lost || left_ms <= grace_ms(keep)) {
        on_loss(keep, is_lost);
    }
    if (is_lost) {
        return -1;
    }
    keep->deadline = hf_instant_add(cli_time_now(), hf_span_ms(left_ms));
    return (keep->is_signalled ? left_ms : left_ms - grace_ms(keep)) + 1;
}

/* ---- Keeping it --------------------------------------------------------- */

static void wait_once(struct cli_while *keep, int64_t wait_ms)
{
    struct pollfd fds[5] = {
        {.fd = hf_client_fd(keep->client), .events = POLLIN},
        {.fd = keep->pidfd, .events = POLLIN},
        {.fd = keep->listener, .events = POLLIN},
        {.fd = keep->peer, .events = POLLIN},
        {.fd = keep->note.signals, .events = POLLIN},
    };
    HF_ASSERT(wait_ms >= 0 && wait_ms <= INT_MAX);
    int n = poll(fds, 5, (int)wait_ms); /* at most a day, the longest ttl */
    hf_client_process(keep->client);
    if (n > 0 && fds[3].revents != 0) {
        serve_peer(keep);
    }
    if (n > 0 && fds[2].revents != 0 && keep->lock != NULL) {
        accept_peer(keep);
    }
}

void cli_while_keep(struct cli_while *keep)
{
    int64_t wait_ms = 0;
    while (keep->lock != NULL && !cli_while_is_over(keep)) {
        wait_ms = check_lock(keep);
        if (wait_ms < 0) {
            break;
        }
        wait_once(keep, wait_ms);
    }
    (void)hf_lock_release(keep->lock);
    keep->lock = NULL;
}
