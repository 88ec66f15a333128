/* SPDX-License-Identifier: Apache-2.0 */
/* A byte stream to one endpoint: TCP, unix or TLS, all alike from outside.
 *
 *     hf_socket_init(&socket, loop, on_event);
 *     hf_socket_start(&socket, &target, timeout, now);
 *     on_event:  look at socket.state; if OPEN: read and write until 0
 *
 * Nothing blocks. A name is looked up in the background; all addresses that it
 * has are tried in turn. The callback comes from hf_loop_dispatch() only. */
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
    HF_SOCKET_SECURING, /* TLS shakes hands */
    HF_SOCKET_OPEN,
    HF_SOCKET_FAILED /* `reason` says why; hf_socket_close() is due */
};

struct hf_socket_target {
    bool is_unix;
    const char *host; /* or path; borrowed until closed */
    uint16_t port;
    struct hf_tls *tls; /* NULL: plain; borrowed until closed */
};

/* One event reads at most so many bytes of a connection: a peer that never
 * stops sending must not keep timers and other connections waiting. Four full
 * reads: a server that is well seldom says so much at once. */
#define HF_SOCKET_TURN_BYTES 65536

struct hf_socket;

/* Something happened: another state, bytes to read, room to write. */
typedef void hf_socket_fn(struct hf_socket *socket, struct hf_instant now);

struct hf_socket {
    struct hf_watch watch; /* of the connection, or of the look-up */
    struct hf_loop *loop;
    hf_socket_fn *event;
    enum hf_socket_state state;
    bool wants_output;
    bool is_ended; /* the kernel said that no more bytes will come */
    size_t turn; /* bytes that this event may still read; TLS counts its own */
    struct hf_socket_target target;
    struct hf_resolve *resolve;
    struct hf_addresses addresses;
    unsigned at;                /* address being tried */
    struct hf_span per_address; /* time that each may take */
    struct hf_instant give_up;  /* hf_socket_expire() is due; HF_NEVER */
    void *tls;
    char reason[192];
};

void hf_socket_init(struct hf_socket *socket, struct hf_loop *loop,
                    hf_socket_fn *event);

/* Start connecting; the state says how far it came at once. `timeout` is
 * divided among the addresses. */
void hf_socket_start(struct hf_socket *socket,
                     const struct hf_socket_target *target,
                     struct hf_span timeout, struct hf_instant now);

/* `give_up` has come: try the next address, or fail. */
void hf_socket_expire(struct hf_socket *socket, struct hf_instant now);

/* @return bytes read; 0: no more now; -1: over (state FAILED). What is left
 * when the turn is used up is reported by another event, behind the timers. */
ssize_t hf_socket_read(struct hf_socket *socket, void *data, size_t len);

/* @return bytes written; 0: no room now; -1: over (state FAILED). */
ssize_t hf_socket_write(struct hf_socket *socket, const void *data, size_t len);

/* Has the other side closed meanwhile? For connections that were idle. */
bool hf_socket_is_dead(struct hf_socket *socket);

/* @param quiet  say nothing to the other side: in a forked child. */
void hf_socket_close(struct hf_socket *socket, bool quiet);

#endif
