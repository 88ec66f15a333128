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

#include <stddef.h>
#include <stdint.h>

/** Bytes that hf_resp_write() needs at most for these arguments. */
size_t hf_resp_room(int argc, const size_t *lens);

/** Write a request.
 * @param to  room for hf_resp_room() bytes.
 * @return the bytes written. */
size_t hf_resp_write(char *to, int argc, const char **argv, const size_t *lens);

/** The same for hf_resp_write_eval(). */
size_t hf_resp_eval_room(size_t evalsha_len, size_t text_len);

/** Write the request that executes a script by its text, made of the one that
 * names its hash: EVALSHA <hash> ... becomes EVAL <text> ...
 * @param to       room for hf_resp_eval_room() bytes.
 * @param evalsha  one request, as hf_resp_write() has written it.
 * @return the bytes written. */
size_t hf_resp_write_eval(char *to, const char *evalsha, size_t evalsha_len,
                          const char *text, size_t text_len);

/** Most digits of a number. */
#define HF_RESP_DIGITS_MAX 20

/** Write a number in decimal so that its last digit is before `end`.
 * @return its first digit. */
static inline char *hf_resp_digits(char *end, uint64_t number)
{
    do {
        *--end = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    return end;
}

#endif
