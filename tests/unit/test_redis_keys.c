/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of a name: their hash slots in a Cluster, and that no two names share a
 * key. */
#include "store/redis/keys.h"

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A server with Cluster support answers CLUSTER KEYSLOT without a cluster. */
struct oracle {
    pid_t pid;
    char dir[64];
    redisContext *redis;
};

/* A TCP port that is free now: without one for its bus, each server that has
 * Cluster support binds port 10000, and a second one ends. */
static unsigned free_port(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(any);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool is_bound = fd >= 0 && bind(fd, (struct sockaddr *)&any, len) == 0 &&
                    getsockname(fd, (struct sockaddr *)&any, &len) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return is_bound ? ntohs(any.sin_port) : 0;
}

static void launch(struct oracle *oracle, const char *path)
{
    char bus[8];
    snprintf(bus, sizeof(bus), "%u", free_port());
    oracle->pid = fork();
    if (oracle->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket",
               path, "--save", "", "--dir", oracle->dir, "--cluster-enabled",
               "yes", "--bind", "127.0.0.1", "--cluster-port", bus, "--logfile",
               "log", (char *)NULL);
        _exit(127);
    }
}

/* The server accepts clients before it has bound the port of the cluster bus,
 * and ends if another process was given that port meanwhile. */
static bool answers(struct oracle *oracle, const char *path)
{
    oracle->redis = redisConnectUnix(path);
    redisReply *reply = oracle->redis == NULL || oracle->redis->err != 0
                            ? NULL
                            : redisCommand(oracle->redis, "PING");
    bool is_up = reply != NULL && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    if (!is_up) {
        redisFree(oracle->redis);
    }
    return is_up;
}

static int oracle_start(void **state)
{
    static struct oracle oracle;
    char path[80];
    snprintf(oracle.dir, sizeof(oracle.dir), "/tmp/hf-keys-XXXXXX");
    if (mkdtemp(oracle.dir) == NULL) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/s", oracle.dir);
    launch(&oracle, path);
    for (int i = 0; i < 4000; i++) {
        if (answers(&oracle, path)) {
            *state = &oracle;
            return 0;
        }
        if (waitpid(oracle.pid, NULL, WNOHANG) == oracle.pid) {
            launch(&oracle, path);
        }
        usleep(5000);
    }
    return -1;
}

static int oracle_stop(void **state)
{
    struct oracle *oracle = *state;
    char command[120];
    redisFree(oracle->redis);
    kill(oracle->pid, SIGKILL);
    waitpid(oracle->pid, NULL, 0);
    snprintf(command, sizeof(command), "rm -rf -- '%s'", oracle->dir);
    return system(command);
}

static unsigned hash_slot_by_server(struct oracle *oracle, const char *key,
                                    size_t len)
{
    redisReply *reply =
        redisCommand(oracle->redis, "CLUSTER KEYSLOT %b", key, len);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    unsigned hash_slot = (unsigned)reply->integer;
    freeReplyObject(reply);
    return hash_slot;
}

static void check_name(struct oracle *oracle, const char *name, size_t len)
{
    struct hf_redis_keys keys;
    assert_true(hf_redis_keys_make(&keys, "lock:", 5, name, len));
    unsigned hash_slot = hash_slot_by_server(oracle, keys.lock, keys.lock_len);
    static const char *const ends[HF_REDIS_SIDES] = {
        ":fence", ":queue", ":waiters", ":holders",
        ":votes", ":once",  ":value"};
    for (unsigned i = 0; i < HF_REDIS_SIDES; i++) {
        const struct hf_redis_side_key *side = &keys.sides[i];
        size_t end = strlen(ends[i]);
        assert_int_equal(hash_slot_by_server(oracle, side->text, side->len),
                         hash_slot);
        assert_memory_equal(side->text, "hf:{", 4);
        assert_memory_equal(side->text + side->len - end, ends[i], end);
    }
}

static void names_by_hand_fall_into_one_hash_slot(void **state)
{
    static const struct {
        const char *name;
        size_t len;
    } names[] = {
        {"a", 1},      {"nightly", 7}, {"a}b", 3},         {"}", 1},
        {"{}", 2},     {"{", 1},       {"x{}y", 4},        {"x{}y{z}", 7},
        {"{tag}", 5},  {"a{b}c", 5},   {"{{a}b", 5},       {"}{a}", 4},
        {"{a", 2},     {"a{b", 3},     {"nul\0x}", 6},     {"\xff}\xfe", 3},
        {"{a}{b}", 6}, {"{}}", 3},     {"gr\xc3\xbc}", 5},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        check_name(*state, names[i].name, names[i].len);
    }
}

static void random_names_of_few_letters_fall_into_one_hash_slot(void **state)
{
    static const char letters[] = "a{}:b";
    uint64_t seed = 42;
    for (int i = 0; i < 5000; i++) {
        char name[12];
        size_t len = 1 + seed % sizeof(name);
        for (size_t at = 0; at < len; at++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
            name[at] = letters[(seed >> 33) % 5];
        }
        check_name(*state, name, len);
    }
}

/* CRC16/XMODEM, bit by bit, mod 16384: without a server, as there are too many
 * to ask it. */
static unsigned hash_slot_of(const char *text, size_t len)
{
    unsigned crc = 0;
    for (size_t i = 0; i < len * 8; i++) {
        unsigned bit = (unsigned)(unsigned char)text[i / 8] >> (7 - i % 8) & 1;
        unsigned top = crc >> 15 & 1;
        crc = (crc << 1 & 0xffff) ^ ((bit ^ top) != 0 ? 0x1021U : 0U);
    }
    return crc % 16384;
}

/* The search for a tag asserts that it finds one: try names for every hash
 * slot. */
static void every_hash_slot_has_a_tag(void **state)
{
    static unsigned char is_seen[16384];
    unsigned n = 0;
    (void)state;
    for (unsigned i = 0; n < 16384; i++) {
        char name[24];
        struct hf_redis_keys keys;
        int len = snprintf(name, sizeof(name), "}%u", i);
        unsigned hash_slot = hash_slot_of(name, (size_t)len);
        if (is_seen[hash_slot] == 0) {
            assert_true(hf_redis_keys_make(&keys, "", 0, name, (size_t)len));
            const struct hf_redis_side_key *side = &keys.sides[HF_REDIS_VOTES];
            assert_memory_equal(side->text, "hf:{", 4);
            const char *tag = side->text + 4;
            size_t tag_len = strcspn(tag, "}");
            assert_int_equal(hash_slot_of(tag, tag_len), hash_slot);
            is_seen[hash_slot] = 1;
            n++;
        }
    }
}

static bool is_same(const struct hf_redis_side_key *a,
                    const struct hf_redis_side_key *b)
{
    return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

static bool share_a_side(const struct hf_redis_keys *a,
                         const struct hf_redis_keys *b)
{
    for (unsigned i = 0; i < HF_REDIS_SIDES; i++) {
        for (unsigned j = 0; j < HF_REDIS_SIDES; j++) {
            if (is_same(&a->sides[i], &b->sides[j])) {
                return true;
            }
        }
    }
    return false;
}

/* From a side key the lock key can be read: so no two share one. */
static void side_keys_belong_to_one_name(void **state)
{
    static const char *const names[] = {
        "a",
        "a:fence",
        "a:queue",
        "a:waiters",
        "{a}",
        "{a}:a",
        "a}:b",
        "{a}b",
        "hf",
        "a}:fence",
        "a}:queue",
        "{a}:fence",
        "{a}:votes",
        "{a}:{a}",
        "}",
        "00000}:a:fence",
        "x}:{x}:fence",
        "x}:{x}:holders",
        "{x}:x",
        "a:once",
        "a}:once",
        "x}:{x}:once",
    };
    enum { N = sizeof(names) / sizeof(names[0]) };
    static struct hf_redis_keys keys[N];
    (void)state;
    for (unsigned i = 0; i < N; i++) {
        assert_true(
            hf_redis_keys_make(&keys[i], "", 0, names[i], strlen(names[i])));
        for (unsigned j = 0; j < i; j++) {
            assert_false(share_a_side(&keys[i], &keys[j]));
        }
    }
}

static void read_back(const struct hf_redis_keys *keys)
{
    for (unsigned i = 0; i < HF_REDIS_SIDES; i++) {
        const char *lock = NULL;
        size_t len = 0;
        assert_int_equal(hf_redis_side_read(keys->sides[i].text,
                                            keys->sides[i].len, &lock, &len),
                         i);
        assert_int_equal(len, keys->lock_len);
        assert_memory_equal(lock, keys->lock, len);
    }
}

static void side_keys_lead_to_their_lock(void **state)
{
    static const char *const names[] = {
        "a",   "a:fence",      "{a}", "{a}:a",  "a}:b",       "}",
        "a{b", "x}:{x}:queue", "a b", "a:once", "x}:{x}:once"};
    static const char *const others[] = {
        "hf:node",       "hf:{a}",  "hf:{:fence",
        "hf:{}:fence",   "hf:{a}:", "hf:{a}b:fence",
        "hf:a}:fence",   ":fence",  "hf:{a:once",
        "hf:{}:once",    "once",    "hf:{:once",
        "lock:{a}:once", ""};
    static struct hf_redis_keys keys;
    const char *lock;
    size_t len;
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_true(
            hf_redis_keys_make(&keys, "lock:", 5, names[i], strlen(names[i])));
        read_back(&keys);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_int_equal(
            hf_redis_side_read(others[i], strlen(others[i]), &lock, &len),
            HF_REDIS_SIDES);
    }
}

static void assert_text(const redisReply *reply, const char *text, size_t len)
{
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_int_equal(reply->len, len);
    assert_memory_equal(reply->str, text, len);
}

/* As arguments they are KEYS of each script about a lock, in this order. */
static void run_has_the_keys_in_order(void **state)
{
    static struct hf_redis_keys keys;
    static const char name[] = "\r\n$3\r\nan odd name";
    char head[16];
    void *read = NULL;
    (void)state;
    assert_true(hf_redis_keys_make(&keys, "lock:", 5, name, sizeof(name)));
    int len = snprintf(head, sizeof(head), "*%d\r\n", HF_REDIS_RUN_KEYS);
    redisReader *reader = redisReaderCreate();
    redisReaderFeed(reader, head, (size_t)len);
    redisReaderFeed(reader, keys.run, keys.run_len);
    assert_int_equal(redisReaderGetReply(reader, &read), REDIS_OK);
    assert_non_null(read);
    const redisReply *run = read;
    assert_int_equal(run->elements, 7);
    assert_text(run->element[0], keys.lock, keys.lock_len);
    for (int i = 0; i < HF_REDIS_LINE_SIDES; i++) {
        const struct hf_redis_side_key *side = &keys.sides[i];
        assert_text(run->element[1 + i], side->text, side->len);
    }
    assert_text(run->element[6], "hf:node", 7);
    freeReplyObject(read);
    redisReaderFree(reader);
}

static void our_own_keys_are_no_locks(void **state)
{
    struct hf_redis_keys keys;
    (void)state;
    assert_false(hf_redis_keys_make(&keys, "", 0, "hf:node", 7));
    assert_false(hf_redis_keys_make(&keys, "hf:", 3, "x", 1));
    assert_false(hf_redis_keys_make(&keys, "h", 1, "f:", 2));
    assert_true(hf_redis_keys_make(&keys, "lock:", 5, "hf:node", 7));
    assert_true(hf_redis_keys_make(&keys, "", 0, "hf", 2));
}

static void longest_keys_fit(void **state)
{
    static struct hf_redis_keys keys;
    static char prefix[HF_URL_PREFIX_MAX];
    static char name[HF_NAME_MAX];
    (void)state;
    memset(prefix, 'p', sizeof(prefix));
    memset(name, 'n', sizeof(name));
    assert_true(
        hf_redis_keys_make(&keys, prefix, sizeof(prefix), name, sizeof(name)));
    assert_int_equal(keys.sides[HF_REDIS_FENCE].len,
                     HF_REDIS_LOCK_KEY_MAX + 11);
    prefix[0] = '{';
    name[HF_NAME_MAX - 1] = '}';
    assert_true(
        hf_redis_keys_make(&keys, prefix, sizeof(prefix), name, sizeof(name)));
    for (unsigned i = 0; i < HF_REDIS_SIDES; i++) {
        assert_true(keys.sides[i].len <= sizeof(keys.sides[i].text));
    }
    assert_true(keys.run_len <= sizeof(keys.run));
}

static void patterns_take_the_prefix_literally(void **state)
{
    char out[64];
    (void)state;
    size_t len = hf_redis_pattern_make(out, sizeof(out), "a*[", 3, NULL, 0);
    assert_int_equal(len, 6);
    assert_memory_equal(out, "a\\*\\[*", 6);
    len = hf_redis_pattern_make(out, sizeof(out), "p:", 2, "x?", 2);
    assert_int_equal(len, 4);
    assert_memory_equal(out, "p:x?", 4);
    assert_int_equal(hf_redis_pattern_make(out, 4, "prefix", 6, NULL, 0), 0);
    static const char *const cut[][2] = {
        {"[!a]b", "*"},       {"a[b", "a*"},     {"\\[a]", "\\[a]"},
        {"\\\\[a]", "\\\\*"}, {"?*[]a]", "?**"}, {"a\\", "a\\"},
    };
    for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
        const char *in = cut[i][0];
        len = hf_redis_pattern_make(out, sizeof(out), "", 0, in, strlen(in));
        out[len] = '\0';
        assert_string_equal(out, cut[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_by_hand_fall_into_one_hash_slot),
        cmocka_unit_test(random_names_of_few_letters_fall_into_one_hash_slot),
        cmocka_unit_test(every_hash_slot_has_a_tag),
        cmocka_unit_test(side_keys_belong_to_one_name),
        cmocka_unit_test(side_keys_lead_to_their_lock),
        cmocka_unit_test(run_has_the_keys_in_order),
        cmocka_unit_test(our_own_keys_are_no_locks),
        cmocka_unit_test(longest_keys_fit),
        cmocka_unit_test(patterns_take_the_prefix_literally),
    };
    return cmocka_run_group_tests(tests, oracle_start, oracle_stop);
}
