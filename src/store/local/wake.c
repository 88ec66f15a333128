/* SPDX-License-Identifier: Apache-2.0 */
/* Grants pushed by datagram.
 *
 * The socket has an abstract name. So members of a shared folder need no right
 * to make files in it, the folder's path may be longer than sun_path, and a
 * killed process leaves no file. But the name is visible only in its network
 * namespace. A releaser in another one cannot send, and the waiter's next
 * heartbeat finds the grant. If one of the two could not read its namespace
 * (after chroot(), without /proc), the releaser sends all the same, but a
 * missing socket does not show that the waiter's process has ended.
 *
 * Any process may send to an abstract name. A socket filter drops messages that
 * do not begin with the socket's secret, so other users cannot fill the receive
 * queue. The secret is kept in the store; a process that can read it there can
 * break every lock anyway. A pushed grant is only a hint: the waiter sends
 * CONFIRM, to which the store replies from its record.
 *
 * Cost: one sendto() for up to 128 consecutive grants to one process; one
 * recv() for each message, and one that finds none. If the reader's queue is
 * full, up to 15 tries in some 2 ms. A process that never waits makes its
 * socket when it first grants a lock to a waiter. */
#include "store/local/wake.h"

#include "base/assert.h"
#include "io/clock.h"
#include "io/namespace.h"
#include "io/standard_fds.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* The receive queue is full: its reader is about to run, or is stopped. Retry
 * for some 2 ms; otherwise the waiter finds its grant only with its next
 * heartbeat, up to two seconds later. */
#define TRIES 15
#define NAP_NS 100000

struct message {
    uint64_t secret;
    struct hf_wake_note notes[HF_WAKE_NOTES_MAX];
};

#define MESSAGE_LEN(n_notes)                                                   \
    (offsetof(struct message, notes) + (n_notes) * sizeof(struct hf_wake_note))

/* 0: unknown, without /proc. */
static uint64_t read_space(void)
{
    struct stat about;
    return hf_namespace_stat("net", &about) == 0 ? about.st_ino : 0;
}

void hf_wake_init(struct hf_wake *wake, hf_watch_fn *ready)
{
    *wake = (struct hf_wake){.watch = {.fd = -1, .ready = ready}};
}

/* A socket stays in the namespace in which it was made. */
static bool make_socket(struct hf_wake *wake)
{
    if (wake->watch.fd < 0) {
        wake->space = read_space();
        wake->watch.fd = hf_standard_fds_avoid(
            socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    }
    return wake->watch.fd >= 0;
}

static socklen_t name_of(uint64_t id, struct sockaddr_un *out)
{
    memset(out, 0, sizeof(*out));
    out->sun_family = AF_UNIX;
    int len = snprintf(out->sun_path + 1, sizeof(out->sun_path) - 1,
                       "holdfast-%016" PRIx64, id);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)len);
}

/* Accept a message if both halves of the secret match. BPF loads words in
 * network byte order. */
static bool drop_strangers(int fd, uint64_t secret)
{
    uint32_t half[2];
    memcpy(half, &secret, sizeof(half));
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(half[0]), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(half[1]), 0, 1),
        /* A longer message is cut at one byte more than the longest valid one,
         * and hf_wake_read() drops it. */
        BPF_STMT(BPF_RET | BPF_K, sizeof(struct message) + 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                      sizeof(program)) == 0;
}

bool hf_wake_listen(struct hf_wake *wake, struct hf_loop *loop)
{
    struct sockaddr_un name;
    struct hf_wake_address address;
    HF_ASSERT(wake->address.id == 0);
    if (!make_socket(wake)) {
        return false;
    }
    hf_entropy(&address, sizeof(address));
    address.id |= 1; /* 0 means: no socket */
    address.space = wake->space;
    socklen_t len = name_of(address.id, &name);
    /* In a kernel without filters other users can fill the queue, but not forge
     * a grant: hf_wake_read() checks the secret too. */
    (void)drop_strangers(wake->watch.fd, address.secret);
    if (bind(wake->watch.fd, (const struct sockaddr *)&name, len) != 0 ||
        !hf_loop_watch(loop, &wake->watch)) {
        int number = errno;
        hf_wake_close(wake, loop);
        errno = number;
        return false;
    }
    wake->address = address;
    return true;
}

enum hf_wake_result
hf_wake_send(struct hf_wake *wake, const struct hf_wake_address *to,
             const struct hf_wake_note *notes, size_t n_notes)
{
    struct sockaddr_un name;
    struct message message;
    HF_ASSERT(n_notes > 0 && n_notes <= HF_WAKE_NOTES_MAX);
    if (to->id == 0 || !make_socket(wake)) {
        return HF_WAKE_UNSURE;
    }
    bool is_known = to->space != 0 && wake->space != 0;
    if (is_known && to->space != wake->space) {
        return HF_WAKE_UNSURE;
    }
    message.secret = to->secret;
    memcpy(message.notes, notes, n_notes * sizeof(*notes));
    socklen_t len = name_of(to->id, &name);
    ssize_t sent = -1;
    int tries = to->id == wake->address.id ? 1 : TRIES; /* our own: no retry */
    for (; sent < 0 && tries > 0; tries--) {
        sent = sendto(wake->watch.fd, &message, MESSAGE_LEN(n_notes),
                      MSG_NOSIGNAL, (const struct sockaddr *)&name, len);
        if (sent >= 0 || errno != EAGAIN) {
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    if (sent >= 0) {
        return HF_WAKE_SENT;
    }
    return errno == ECONNREFUSED && is_known ? HF_WAKE_NOBODY : HF_WAKE_UNSURE;
}

int hf_wake_read(struct hf_wake *wake,
                 struct hf_wake_note notes[HF_WAKE_NOTES_MAX])
{
    struct message message;
    ssize_t len;
    do {
        len = recv(wake->watch.fd, &message, sizeof(message), MSG_TRUNC);
    } while (len < 0 && errno == EINTR);
    if (len < 0) {
        return -1;
    }
    size_t n_notes = (size_t)len / sizeof(struct hf_wake_note);
    if (n_notes == 0 || n_notes > HF_WAKE_NOTES_MAX ||
        (size_t)len != MESSAGE_LEN(n_notes) ||
        message.secret != wake->address.secret) {
        return 0;
    }
    memcpy(notes, message.notes, n_notes * sizeof(*notes));
    return (int)n_notes;
}

void hf_wake_close(struct hf_wake *wake, struct hf_loop *loop)
{
    if (wake->watch.fd >= 0 && loop != NULL) {
        hf_loop_unwatch(loop, &wake->watch);
    }
    if (wake->watch.fd >= 0) {
        close(wake->watch.fd);
    }
    wake->watch.fd = -1;
    wake->address.id = 0;
}
