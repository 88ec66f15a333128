/* SPDX-License-Identifier: Apache-2.0 */
/* A byte stream to one endpoint: TCP, unix or TLS, with the same interface.
 *
 *     hf_socket_init(&socket, loop, on_event);
 *     hf_socket_start(&socket, &target, timeout, now);
 *     on_event:  check socket.state; if OPEN: read and write until 0
 *
 * No function blocks. A name is looked up in a thread, and its addresses are
 * tried one after another, from `turn` on. The callback comes from
 * hf_loop_dispatch() only. */
#ifndef HF_IO_SOCKET_H
#define HF_IO_SOCKET_H

#include "io/loop.h"
#include "io/resolve.h"
#include "io/tls.h"

#include <sys/types.h>

enum hf_socket_state {
    HF_SOCKET_CLOSED,
    HF_SOCKET_RESOLVING,
    HF_SOCKET_CONNECTING,
    HF_SOCKET_SECURING, /* the TLS handshake */
    HF_SOCKET_OPEN,
    HF_SOCKET_FAILED /* `reason` is set; the owner must close it */
};

struct hf_socket_target {
    bool is_unix;
    const char *host; /* or path; borrowed until closed */
    uint16_t port;
    unsigned turn;      /* of its addresses, the one to begin with, modulo n */
    struct hf_tls *tls; /* NULL: plain; borrowed until closed */
};

/* The turn: one event reads at most this many bytes, so that a peer that sends
 * without end does not block timers and other connections. A valid server
 * seldom sends so much at once: four full reads. */
#define HF_SOCKET_TURN_BYTES 65536

struct hf_socket;

/* Called after a change of state, or when bytes can be read or written. */
typedef void hf_socket_fn(struct hf_socket *socket, struct hf_instant now);

/* Why a unix socket cannot be opened that the user has no right to, for stores
 * whose library connects, too. */
#define HF_SOCKET_NO_PERMISSION                                                \
    "cannot connect: no permission for the socket; add the user to its group"

/* Bytes of a reason, NUL included: the text of an errno or of TLS, with an
 * address. In a node's reason (HF_TEXT_REASON) there is room for a word more.
 */
#define HF_SOCKET_REASON_MAX 192

struct hf_socket {
    struct hf_watch watch; /* of the connection, or of the look-up */
    struct hf_loop *loop;
    hf_socket_fn *event;
    enum hf_socket_state state;
    bool wants_output;
    bool is_ended; /* epoll has reported the end of the stream */
    size_t turn;   /* bytes that this event may still read; not used with TLS */
    struct hf_socket_target target;
    struct hf_resolve *resolve;
    struct hf_addresses addresses;
    unsigned tried;             /* addresses that failed this time */
    struct hf_span per_address; /* timeout of each address */
    struct hf_instant give_up;  /* when to call hf_socket_expire() */
    void *tls;
    bool is_denied; /* FAILED: no right to the unix socket */
    char reason[HF_SOCKET_REASON_MAX];
};

/** CLOSED, without a descriptor. @param event  called for each event of the
 * socket, from hf_loop_dispatch(). */
void hf_socket_init(struct hf_socket *socket, struct hf_loop *loop,
                    hf_socket_fn *event);

/* Start to connect; may become OPEN or FAILED at once, without a callback.
 * `timeout` is divided among the addresses. */
void hf_socket_start(struct hf_socket *socket,
                     const struct hf_socket_target *target,
                     struct hf_span timeout, struct hf_instant now);

/* Call at `give_up`: tries the next address, or fails. */
void hf_socket_expire(struct hf_socket *socket, struct hf_instant now);

/** @return bytes read; 0: none now; -1: FAILED. At the end of the turn the rest
 * causes another event, after the timers. */
ssize_t hf_socket_read(struct hf_socket *socket, void *data, size_t len);

/** @return bytes written; 0: none now, an event follows; -1: FAILED. */
ssize_t hf_socket_write(struct hf_socket *socket, const void *data, size_t len);

/** Read what a plain peer has sent before the connection FAILED, such as its
 * reason. Does not block. @return bytes read; 0: none. */
size_t hf_socket_read_last(struct hf_socket *socket, void *data, size_t len);

/* Has the peer closed the connection? For connections that were idle. */
bool hf_socket_is_dead(const struct hf_socket *socket);

/** @param quiet  true in a forked child: send nothing to the peer. */
void hf_socket_close(struct hf_socket *socket, bool quiet);

#endif
