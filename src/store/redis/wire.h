/* SPDX-License-Identifier: Apache-2.0 */
/* One connection's requests: bytes on their way out, and what is expected to
 * come back, in order. Bytes stay until their reply has come, so that a
 * request that the server did not execute for want of the script's text can
 * be sent again. No lock costs memory here, only what is in flight. */
#ifndef HF_REDIS_WIRE_H
#define HF_REDIS_WIRE_H

#include "base/time.h"
#include "store/redis/scripts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Unanswered bytes that a node may have. A server that answers never has so
 * many; for one that hangs they must not pile up. */
#define HF_WIRE_BYTES_MAX (8U << 20)

struct hf_pending {
    uint64_t cookie;
    struct hf_instant sent;
    uint32_t owner; /* digest: a release finds what it cancels; 0: none */
    uint32_t bytes;
    uint8_t verb;     /* enum hf_verb, or what only the node knows */
    bool is_of_marks; /* SCAN: its second pass */
    bool has_text;    /* the script was sent, not its hash */
    const struct hf_script *script; /* NULL: a plain command */
};

struct hf_wire {
    char *data;
    size_t cap;
    size_t begin; /* of the oldest unanswered request */
    size_t sent;  /* end of what the kernel has */
    size_t end;
    struct hf_pending *ring;
    size_t ring_cap; /* a power of two */
    size_t head;
    size_t count;
};

void hf_wire_init(struct hf_wire *wire);
void hf_wire_fini(struct hf_wire *wire);

/* Nothing is expected any more: another connection begins. */
void hf_wire_reset(struct hf_wire *wire);

/* Overwrite what was sent and answered: a password was among it. */
void hf_wire_wipe(struct hf_wire *wire);

/* Queue a command. `pending->bytes` is filled in. @return false: no memory, or
 * too many unanswered bytes; nothing was queued. */
bool hf_wire_push(struct hf_wire *wire, int argc, const char **argv,
                  const size_t *lens, const struct hf_pending *pending);

/* What is to be written. */
size_t hf_wire_unsent(const struct hf_wire *wire, const char **data);
void hf_wire_wrote(struct hf_wire *wire, size_t n);

/* The oldest unanswered request, sent or not; NULL: there is none. */
const struct hf_pending *hf_wire_oldest(const struct hf_wire *wire);

/* The request that the next reply belongs to, all of which has left; NULL:
 * what comes now was not asked for. */
const struct hf_pending *hf_wire_asked(const struct hf_wire *wire);

/* Its reply has come. */
void hf_wire_pop(struct hf_wire *wire);

/* The reply to the oldest was NOSCRIPT: may it be queued again? Not if a
 * request of `verb` for the same owner is behind it: a release must never be
 * overtaken by what it cancels. */
bool hf_wire_may_resend(const struct hf_wire *wire, uint8_t verb);

/* Queue the oldest again, with its script's text, and pop it. @return false: as
 * for hf_wire_push(). */
bool hf_wire_resend(struct hf_wire *wire);

/* Has hf_wire_push() failed since too many bytes are unanswered? */
bool hf_wire_is_full(const struct hf_wire *wire);

#endif
