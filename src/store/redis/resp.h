/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as bytes of RESP, the protocol of Redis and Valkey:
 *
 *     *2 CRLF $3 CRLF GET CRLF $4 CRLF name CRLF
 *
 * Pure functions on the caller's buffers: no heap, no stdio. wire.c has the
 * buffers, command.c the arguments of each verb. Replies are read by hiredis
 * (reply.h).
 * Source: redis.io, "Redis serialization protocol specification". */
#ifndef HF_REDIS_RESP_H
#define HF_REDIS_RESP_H

#include "base/decimal.h"

#include <stddef.h>

/** The longest form of an argument: its size, its bytes, and CRLF. */
#define HF_RESP_ARGUMENT_MAX(len) (HF_RESP_SIZE_MAX + (len) + 2)

/** The type byte, a number, and CRLF. */
#define HF_RESP_SIZE_MAX (1 + HF_DECIMAL_MAX + 2)

/** Arguments that are formatted already. */
struct hf_resp_run {
    int argc;
    const char *bytes;
    size_t len;
};

struct hf_resp_request {
    int argc; /* without those of the run */
    const char *const *argv;
    const size_t *lens;
    struct hf_resp_run run; /* argc 0: none */
    int run_at;             /* arguments of argv before the run */
};

/** Bytes that hf_resp_write() needs at most. */
size_t hf_resp_room(const struct hf_resp_request *request);

/** Write a request.
 * @param to  room for hf_resp_room() bytes.
 * @return the bytes written. */
size_t hf_resp_write(char *to, const struct hf_resp_request *request);

/** Write one argument, for a run.
 * @param to  room for HF_RESP_ARGUMENT_MAX(len) bytes.
 * @return the end of what was written. */
char *hf_resp_argument(char *to, const char *data, size_t len);

/** The same for hf_resp_write_eval(). */
size_t hf_resp_eval_room(size_t evalsha_len, size_t text_len);

/** Write the request that executes a script by its text, made of the one that
 * names its hash: EVALSHA <hash> ... becomes EVAL <text> ...
 * @param to       room for hf_resp_eval_room() bytes.
 * @param evalsha  one request, as hf_resp_write() has written it.
 * @return the bytes written. */
size_t hf_resp_write_eval(char *to, const char *evalsha, size_t evalsha_len,
                          const char *text, size_t text_len);

#endif
