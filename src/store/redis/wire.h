/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of one connection: a buffer of bytes to send, and a ring of
 * pending replies in order. The bytes of a request stay until its reply, so
 * that it can be sent again after NOSCRIPT. Only requests in flight use memory,
 * not locks. */
#ifndef HF_REDIS_WIRE_H
#define HF_REDIS_WIRE_H

#include "base/time.h"
#include "store/redis/resp.h"
#include "store/redis/scripts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limit of unanswered bytes. Only a server that hangs reaches it. */
#define HF_REDIS_WIRE_BYTES_MAX (8U << 20)

struct hf_pending {
    uint64_t cookie;
    struct hf_instant sent;
    uint32_t owner; /* digest, for hf_redis_wire_may_resend(); 0: none */
    uint32_t bytes;
    uint8_t verb;     /* enum hf_verb, or a kind of the connection's owner */
    bool is_of_marks; /* SCAN: its second pass */
    bool has_text;    /* the script was sent, not its hash */
    const struct hf_script *script; /* NULL: a plain command */
};

struct hf_redis_wire {
    char *data;
    size_t cap;
    size_t begin; /* start of the oldest unanswered request */
    size_t sent;  /* end of the bytes written to the socket */
    size_t end;
    struct hf_pending *ring;
    size_t ring_cap; /* a power of two */
    size_t head;
    size_t count;
};

/* Without requests, and without memory. */
void hf_redis_wire_init(struct hf_redis_wire *wire);

/* Overwrite and free the buffers: they may have held a password. Without
 * requests again. */
void hf_redis_wire_fini(struct hf_redis_wire *wire);

/* Drop all requests, for a new connection. */
void hf_redis_wire_reset(struct hf_redis_wire *wire);

/* Overwrite the unused bytes of the buffer, which may have held a password. */
void hf_redis_wire_wipe(struct hf_redis_wire *wire);

/** Queue a request. `pending->bytes` is filled in. @return false: no memory, or
 * too many unanswered bytes; nothing was queued. */
bool hf_redis_wire_push(struct hf_redis_wire *wire,
                        const struct hf_resp_request *request,
                        const struct hf_pending *pending);

/** The bytes that are not written yet. @return how many. */
size_t hf_redis_wire_unsent(const struct hf_redis_wire *wire,
                            const char **data);

/* The socket took the first `n` of the unsent bytes. */
void hf_redis_wire_wrote(struct hf_redis_wire *wire, size_t n);

/* The oldest unanswered request, sent or not; NULL: there is none. */
const struct hf_pending *hf_redis_wire_oldest(const struct hf_redis_wire *wire);

/* The oldest request if it is written completely: the next reply belongs to
 * it. NULL: a reply now is unsolicited. */
const struct hf_pending *hf_redis_wire_asked(const struct hf_redis_wire *wire);

/* Remove the oldest request: its reply has arrived. */
void hf_redis_wire_pop(struct hf_redis_wire *wire);

/* The reply to the oldest request was NOSCRIPT: may it be queued again? Not if
 * a request of `verb` for the same owner follows it, unless it is of `verb`
 * itself: an ACQUIRE must not move after the RELEASE that cancels it. */
bool hf_redis_wire_may_resend(const struct hf_redis_wire *wire, uint8_t verb);

/** Queue the oldest request again, with its script's text, and pop it. @return
 * false: as for hf_redis_wire_push(). */
bool hf_redis_wire_resend(struct hf_redis_wire *wire);

/* After hf_redis_wire_push() failed: because of HF_REDIS_WIRE_BYTES_MAX? */
bool hf_redis_wire_is_full(const struct hf_redis_wire *wire);

#endif
