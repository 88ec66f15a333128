/* SPDX-License-Identifier: Apache-2.0 */
/* WRITING RESP
 *
 * One pass, in place, without counting digits first: the caller reserves the
 * longest form of each number, and learns how much of it was used.
 *
 * Safety: a request is safe if the server reads as many arguments as were
 * meant, whatever bytes they have. Each argument goes after its length, so no
 * byte of a name can end one. EVALSHA to EVAL replaces the first two arguments
 * alone; the others are copied as they were sent, so the repeated request is
 * the same command.
 *
 * Cost: no round trip, and one copy of the arguments. The formatter of hiredis
 * allocates and calls sprintf(): it took a fifth of a renewal's CPU time
 * (docs/decisions.md, "Requests are formatted in the output buffer").
 * Source: Redis serialization protocol specification, RESP2. */
#include "store/redis/resp.h"

#include "base/assert.h"

#include <string.h>

static char *write_bytes(char *to, const char *data, size_t len)
{
    if (len > 0) {
        memcpy(to, data, len);
    }
    return to + len;
}

static char *write_number(char *to, size_t n)
{
    char digits[HF_DECIMAL_MAX];
    char *end = digits + sizeof(digits);
    char *first = hf_decimal_before(end, n);
    return write_bytes(to, first, (size_t)(end - first));
}

/* Most arguments have fewer than 100 bytes. */
static inline char *write_size(char *to, char mark, size_t n)
{
    *to++ = mark;
    if (n < 10) {
        *to++ = (char)('0' + n);
    } else if (n < 100) {
        *to++ = (char)('0' + n / 10);
        *to++ = (char)('0' + n % 10);
    } else {
        to = write_number(to, n);
    }
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

char *hf_resp_argument(char *to, const char *data, size_t len)
{
    to = write_size(to, '$', len);
    to = write_bytes(to, data, len);
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

size_t hf_resp_room(const struct hf_resp_request *request)
{
    size_t room = HF_RESP_SIZE_MAX + request->run.len;
    for (int i = 0; i < request->argc; i++) {
        room += HF_RESP_ARGUMENT_MAX(request->lens[i]);
    }
    return room;
}

static char *write_arguments(char *to, const struct hf_resp_request *request,
                             int from, int end)
{
    for (int i = from; i < end; i++) {
        to = hf_resp_argument(to, request->argv[i], request->lens[i]);
    }
    return to;
}

size_t hf_resp_write(char *to, const struct hf_resp_request *request)
{
    const struct hf_resp_run *run = &request->run;
    HF_ASSERT(request->argc > 0 && run->argc >= 0);
    HF_ASSERT((run->argc == 0) == (run->len == 0));
    HF_ASSERT(request->run_at >= 0 && request->run_at <= request->argc);
    char *at = write_size(to, '*', (size_t)request->argc + (size_t)run->argc);
    at = write_arguments(at, request, 0, request->run_at);
    at = write_bytes(at, run->bytes, run->len);
    at = write_arguments(at, request, request->run_at, request->argc);
    return (size_t)(at - to);
}

/* How a request by hash goes on after its number of arguments. */
static const char evalsha_head[] = "$7\r\nEVALSHA\r\n$40\r\n";
static const char eval_head[] = "$4\r\nEVAL\r\n";

/* Bytes, without the NUL. */
#define EVALSHA_HEAD_LEN (sizeof(evalsha_head) - 1)
#define EVAL_HEAD_LEN (sizeof(eval_head) - 1)
#define SHA1_LEN 40 /* a SHA-1 in hexadecimal digits */

size_t hf_resp_eval_room(size_t evalsha_len, size_t text_len)
{
    HF_ASSERT(evalsha_len >= EVALSHA_HEAD_LEN + SHA1_LEN);
    return evalsha_len - EVALSHA_HEAD_LEN - SHA1_LEN + EVAL_HEAD_LEN +
           HF_RESP_SIZE_MAX + text_len;
}

/* "*7 $7 EVALSHA $40 <sha1> …" becomes "*7 $4 EVAL $<len> <text> …". */
size_t hf_resp_write_eval(char *to, const char *evalsha, size_t evalsha_len,
                          const char *text, size_t text_len)
{
    const char *head = memchr(evalsha, '$', evalsha_len);
    HF_ASSERT(head != NULL);
    size_t count_len = (size_t)(head - evalsha);
    HF_ASSERT(evalsha_len >= count_len + EVALSHA_HEAD_LEN + SHA1_LEN);
    HF_ASSERT(memcmp(head, evalsha_head, EVALSHA_HEAD_LEN) == 0);
    const char *rest = head + EVALSHA_HEAD_LEN + SHA1_LEN;
    char *at = write_bytes(to, evalsha, count_len);
    at = write_bytes(at, eval_head, EVAL_HEAD_LEN);
    at = write_size(at, '$', text_len);
    at = write_bytes(at, text, text_len);
    at = write_bytes(at, rest, evalsha_len - (size_t)(rest - evalsha));
    return (size_t)(at - to);
}
