/* SPDX-License-Identifier: Apache-2.0 */
/* Requests in RESP: the bytes, and that a reader of the protocol finds the same
 * arguments again, whatever bytes they have. */
#include "store/redis/resp.h"

#include "store/redis/scripts.h"

#include <hiredis/hiredis.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ARGS_MAX 8       /* of a request: asserted */
#define UNTOUCHED '\x5a' /* the byte before the digits: it must stay */

struct request {
    int argc;
    const char *argv[ARGS_MAX];
    size_t lens[ARGS_MAX];
};

/* Some of a request's arguments, formatted already. */
struct part {
    int from;
    int n;
};

static void add(struct request *request, const char *data, size_t len)
{
    assert_true(request->argc < ARGS_MAX);
    request->argv[request->argc] = data;
    request->lens[request->argc++] = len;
}

/* Its bytes, in memory of exactly the room that was asked for: a sanitizer sees
 * a byte too far. */
static char *write_with_run(const struct request *request, struct part run,
                            size_t *len)
{
    const char *argv[ARGS_MAX];
    size_t lens[ARGS_MAX];
    char formatted[400];
    char *end = formatted;
    struct hf_resp_request to_write = {.argv = argv, .lens = lens};
    for (int i = 0; i < request->argc; i++) {
        if (i >= run.from && i < run.from + run.n) {
            assert_true(HF_RESP_ARGUMENT_MAX(request->lens[i]) <=
                        (size_t)(formatted + sizeof(formatted) - end));
            end = hf_resp_argument(end, request->argv[i], request->lens[i]);
        } else {
            argv[to_write.argc] = request->argv[i];
            lens[to_write.argc++] = request->lens[i];
        }
    }
    to_write.run = (struct hf_resp_run){
        .argc = run.n, .bytes = formatted, .len = (size_t)(end - formatted)};
    to_write.run_at = run.from;
    size_t room = hf_resp_room(&to_write);
    char *bytes = malloc(room);
    assert_non_null(bytes);
    *len = hf_resp_write(bytes, &to_write);
    assert_true(*len <= room);
    return bytes;
}

static char *write_request(const struct request *request, size_t *len)
{
    return write_with_run(request, (struct part){0, 0}, len);
}

/* A request and the array of a reply are the same in RESP. */
static void assert_read(const char *bytes, size_t len,
                        const struct request *request)
{
    redisReader *reader = redisReaderCreate();
    void *read = NULL;
    assert_int_equal(redisReaderFeed(reader, bytes, len), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &read), REDIS_OK);
    assert_non_null(read);
    const redisReply *array = read;
    assert_int_equal(array->type, REDIS_REPLY_ARRAY);
    assert_int_equal(array->elements, request->argc);
    for (int i = 0; i < request->argc; i++) {
        assert_int_equal(array->element[i]->len, request->lens[i]);
        assert_memory_equal(array->element[i]->str, request->argv[i],
                            request->lens[i]);
    }
    freeReplyObject(read);
    read = NULL;
    assert_int_equal(redisReaderGetReply(reader, &read), REDIS_OK);
    assert_null(read); /* and nothing is left over */
    redisReaderFree(reader);
}

static void test_bytes_of_a_request(void **state)
{
    (void)state;
    static const char want[] =
        "*3\r\n$3\r\nSET\r\n$10\r\nten bytes!\r\n$0\r\n\r\n";
    struct request request = {.argc = 0};
    size_t len;
    add(&request, "SET", 3);
    add(&request, "ten bytes!", 10);
    add(&request, "", 0);
    char *bytes = write_request(&request, &len);
    assert_int_equal(len, sizeof(want) - 1);
    assert_memory_equal(bytes, want, len);
    free(bytes);
}

/* A name may have any bytes, those of the protocol too. */
static void test_arguments_of_any_bytes(void **state)
{
    (void)state;
    static const char hostile[] = "\r\n*1\r\n$8\r\nFLUSHALL\r\n\0\377";
    struct request request = {.argc = 0};
    size_t len;
    add(&request, "GET", 3);
    add(&request, hostile, sizeof(hostile));
    add(&request, "$", 1);
    char *bytes = write_request(&request, &len);
    assert_read(bytes, len, &request);
    free(bytes);
}

/* Around each length of the number of a length. */
static void test_lengths(void **state)
{
    (void)state;
    static char data[1000001];
    memset(data, 'x', sizeof(data));
    for (size_t power = 1; power <= 1000000; power *= 10) {
        for (size_t n = power - 1; n <= power + 1 && n < sizeof(data); n++) {
            struct request request = {.argc = 0};
            size_t len;
            add(&request, "SET", 3);
            add(&request, data, n);
            char *bytes = write_request(&request, &len);
            assert_read(bytes, len, &request);
            free(bytes);
        }
    }
}

static void test_no_data(void **state)
{
    (void)state;
    struct request request = {.argc = 0};
    size_t len;
    add(&request, NULL, 0);
    char *bytes = write_request(&request, &len);
    assert_int_equal(len, strlen("*1\r\n$0\r\n\r\n"));
    assert_memory_equal(bytes, "*1\r\n$0\r\n\r\n", len);
    free(bytes);
}

/* A run changes no byte, wherever it is and however long. */
static void test_runs(void **state)
{
    (void)state;
    struct request request = {.argc = 0};
    size_t want_len;
    add(&request, "EVALSHA", 7);
    add(&request, "$3\r\n", 5);
    add(&request, "", 0);
    add(&request, "0123456789 and more, so that its length has two digits", 54);
    add(&request, "\0", 1);
    char *want = write_request(&request, &want_len);
    for (int from = 0; from <= request.argc; from++) {
        for (int n = 0; from + n <= request.argc; n++) {
            if (n == request.argc) {
                continue; /* a request begins with an argument of its own */
            }
            size_t len;
            char *bytes =
                write_with_run(&request, (struct part){from, n}, &len);
            assert_int_equal(len, want_len);
            assert_memory_equal(bytes, want, len);
            free(bytes);
        }
    }
    free(want);
}

/* By hash, and then by text: the other arguments are the same. */
static void check_eval(const struct hf_script *script, const char *name,
                       size_t name_len)
{
    struct request request = {.argc = 0};
    size_t len;
    add(&request, "EVALSHA", 7);
    add(&request, script->sha1, 40);
    add(&request, "1", 1);
    add(&request, name, name_len);
    char *by_hash = write_request(&request, &len);
    size_t room = hf_resp_eval_room(len, script->len);
    char *by_text = malloc(room);
    assert_non_null(by_text);
    size_t n =
        hf_resp_write_eval(by_text, by_hash, len, script->text, script->len);
    assert_true(n <= room);
    request.argv[0] = "EVAL";
    request.lens[0] = 4;
    request.argv[1] = script->text;
    request.lens[1] = script->len;
    assert_read(by_text, n, &request);
    free(by_text);
    free(by_hash);
}

static void test_hash_becomes_text(void **state)
{
    (void)state;
    static const char hostile[] = "$7\r\nEVALSHA\r\n$40\r\n";
    static const struct hf_script empty = {
        .text = "", .sha1 = "da39a3ee5e6b4b0d3255bfef95601890afd80709"};
    check_eval(&hf_script_acquire, "lock:job", 8);
    check_eval(&hf_script_release, hostile, sizeof(hostile));
    check_eval(&hf_script_put, "", 0);
    check_eval(&empty, "a", 1);
}

static void assert_digits(uint64_t number, const char *want)
{
    char room[HF_DECIMAL_MAX + 1];
    room[0] = UNTOUCHED;
    char *end = room + sizeof(room);
    char *first = hf_decimal_before(end, number);
    assert_int_equal(end - first, strlen(want));
    assert_memory_equal(first, want, strlen(want));
    assert_int_equal(room[0], UNTOUCHED);
}

static void test_digits(void **state)
{
    (void)state;
    assert_digits(0, "0");
    assert_digits(9, "9");
    assert_digits(10, "10");
    assert_digits(UINT64_C(9007199254740991), "9007199254740991");
    assert_digits(UINT64_MAX, "18446744073709551615");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_of_a_request),
        cmocka_unit_test(test_arguments_of_any_bytes),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_no_data),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_hash_becomes_text),
        cmocka_unit_test(test_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
