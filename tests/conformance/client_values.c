/* SPDX-License-Identifier: Apache-2.0 */
/* Values: versions, compare-and-set, updates by several processes, and requests
 * without a reply. HF_TEST_SOCKET: of the server of HF_TEST_URL, or its
 * ":PORT", for the proxy that loses replies; an embedded store has no replies
 * to lose. */
#include "client_world.h"
#include "proxy.h"

static uint64_t put(struct hf_client *client, const char *name,
                    const char *text, uint64_t if_version)
{
    struct hf_error error = {0};
    uint64_t version = 0;
    enum hf_status status = hf_value_put(client, name, strlen(name), text,
                                         text == NULL ? 0 : strlen(text),
                                         if_version, &version, &error);
    if (status != HF_OK) {
        fail_msg("put %s: %s: %s", name, hf_status_name(status), error.text);
    }
    return version;
}

static struct hf_value *get(struct hf_client *client, const char *name)
{
    struct hf_error error = {0};
    struct hf_value *value = NULL;
    if (hf_value_get(client, name, strlen(name), &value, &error) != HF_OK) {
        fail_msg("get %s: %s", name, error.text);
    }
    return value;
}

/* It has this text and version; text NULL: there is none. */
static void expect(struct hf_client *client, const char *name, const char *text,
                   uint64_t version)
{
    struct hf_value *value = get(client, name);
    size_t len;
    const char *data = hf_value_data(value, &len);
    assert_int_equal(hf_value_version(value), version);
    if (text == NULL) {
        assert_null(data);
        assert_int_equal(len, 0);
    } else {
        assert_int_equal(len, strlen(text));
        assert_string_equal(data, text);
    }
    hf_value_free(value);
}

static enum hf_status try_put(struct hf_client *client, const char *name,
                              const char *text, uint64_t if_version,
                              uint64_t *version)
{
    return hf_value_put(client, name, strlen(name), text,
                        text == NULL ? 0 : strlen(text), if_version, version,
                        NULL);
}

/* ---- Versions ---------------------------------------------------------- */

static void test_versions(void **state)
{
    struct hf_client *client = open_client();
    const char *name = fresh_name();
    uint64_t found = 7;
    (void)state;
    expect(client, name, NULL, 0);
    assert_int_equal(try_put(client, name, "x", 5, &found), HF_BUSY);
    assert_int_equal(found, 0);
    uint64_t first = put(client, name, "one", 0);
    assert_true(first > 0);
    expect(client, name, "one", first);
    assert_int_equal(try_put(client, name, "x", 0, &found), HF_BUSY);
    assert_int_equal(found, first);
    assert_int_equal(try_put(client, name, "x", first + 1, &found), HF_BUSY);
    expect(client, name, "one", first);
    uint64_t second = put(client, name, "two", first);
    assert_true(second > first);
    assert_int_equal(try_put(client, name, "x", first, &found), HF_BUSY);
    assert_int_equal(found, second);
    uint64_t third = put(client, name, "", HF_VERSION_ANY);
    assert_true(third > second);
    expect(client, name, "", third);
    hf_client_close(client);
}

static void test_delete(void **state)
{
    struct hf_client *client = open_client();
    const char *name = fresh_name();
    uint64_t found = 7;
    (void)state;
    uint64_t first = put(client, name, "one", 0);
    assert_int_equal(try_put(client, name, NULL, first + 1, &found), HF_BUSY);
    assert_int_equal(put(client, name, NULL, first), 0);
    expect(client, name, NULL, 0);
    /* Its version, and what a store may have given to its deletion. */
    for (uint64_t i = 0; i < 8; i++) {
        assert_int_equal(try_put(client, name, "x", first + i, &found),
                         HF_BUSY);
        assert_int_equal(found, 0);
    }
    uint64_t second = put(client, name, "two", 0);
    assert_true(second > first);
    assert_int_equal(put(client, name, NULL, HF_VERSION_ANY), 0);
    assert_int_equal(put(client, name, NULL, HF_VERSION_ANY), 0);
    expect(client, name, NULL, 0);
    hf_client_close(client);
}

static void test_bytes(void **state)
{
    struct hf_client *client = open_client();
    const char *name = fresh_name();
    unsigned char *big = malloc(HF_VALUE_MAX + 1);
    size_t len;
    (void)state;
    assert_non_null(big);
    for (size_t i = 0; i <= HF_VALUE_MAX; i++) {
        big[i] = (unsigned char)(i * 31 + i / 256);
    }
    assert_int_equal(hf_value_put(client, name, strlen(name), big, HF_VALUE_MAX,
                                  0, NULL, NULL),
                     HF_OK);
    struct hf_value *value = get(client, name);
    const void *data = hf_value_data(value, &len);
    assert_int_equal(len, HF_VALUE_MAX);
    assert_memory_equal(data, big, len);
    hf_value_free(value);
    assert_int_equal(hf_value_put(client, name, strlen(name), big,
                                  HF_VALUE_MAX + 1, HF_VERSION_ANY, NULL, NULL),
                     HF_INVALID);
    free(big);
    hf_client_close(client);
}

/* A name is bytes: NUL, quotes, and bytes that are no text. */
static void test_names(void **state)
{
    static const char *const suffixes[] = {
        "", "\0", "\0\0x", "'; DROP", "\"\\", "\xff\xfe", "%s", "{a}"};
    static const size_t lens[] = {0, 1, 3, 7, 2, 2, 2, 3};
    struct hf_client *client = open_client();
    char name[8][80];
    size_t len[8];
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        const char *base = i == 0 ? fresh_name() : name[0];
        len[i] = i == 0 ? strlen(base) : len[0] + lens[i];
        memcpy(name[i], base, len[0]);
        memcpy(name[i] + len[0], suffixes[i], lens[i]);
        assert_int_equal(
            hf_value_put(client, name[i], len[i], &i, sizeof(i), 0, NULL, NULL),
            HF_OK);
    }
    for (size_t i = 0; i < 8; i++) {
        struct hf_value *value = NULL;
        size_t n;
        assert_int_equal(hf_value_get(client, name[i], len[i], &value, NULL),
                         HF_OK);
        const void *data = hf_value_data(value, &n);
        assert_int_equal(n, sizeof(i));
        assert_memory_equal(data, &i, n);
        hf_value_free(value);
    }
    hf_client_close(client);
}

/* A value and a lock of one name do not affect each other. */
static void test_beside_a_lock(void **state)
{
    struct hf_client *client = open_client();
    const char *name = fresh_name();
    (void)state;
    struct hf_lock *lock = take(client, name, LEASE_MS);
    uint64_t version = put(client, name, "x", 0);
    assert_int_equal(hf_lock_release(lock), HF_OK);
    expect(client, name, "x", version);
    hf_client_close(client);
}

static enum hf_status keep(void *user, const struct hf_value *value,
                           const void **data, size_t *len)
{
    int *calls = user;
    ++*calls;
    *data = hf_value_data(value, len);
    return HF_OK;
}

static void test_bad_arguments(void **state)
{
    struct hf_client *client = open_client();
    struct hf_value *value = NULL;
    uint64_t version;
    int calls = 0;
    (void)state;
    assert_int_equal(hf_value_get(NULL, "a", 1, &value, NULL), HF_INVALID);
    assert_int_equal(hf_value_get(client, "a", 0, &value, NULL), HF_INVALID);
    assert_int_equal(hf_value_get(client, "a", 1, NULL, NULL), HF_INVALID);
    assert_int_equal(try_put(NULL, "a", "x", 0, &version), HF_INVALID);
    assert_int_equal(try_put(client, "", "x", 0, &version), HF_INVALID);
    assert_int_equal(try_put(client, "a", NULL, 0, &version), HF_INVALID);
    assert_int_equal(try_put(client, "a", "x", HF_VERSION_ANY - 1, &version),
                     HF_INVALID);
    assert_int_equal(
        hf_value_put(client, "a", 1, NULL, 3, HF_VERSION_ANY, NULL, NULL),
        HF_INVALID);
    assert_int_equal(hf_value_update(client, "a", 1, 0, NULL, NULL, NULL, NULL),
                     HF_INVALID);
    assert_int_equal(
        hf_value_update(client, "a", 1, -2, keep, &calls, NULL, NULL),
        HF_INVALID);
    assert_int_equal(calls, 0);
    assert_int_equal(hf_value_version(NULL), 0);
    assert_null(hf_value_data(NULL, NULL));
    hf_value_free(NULL);
    hf_client_close(client);
}

/* ---- Updates ----------------------------------------------------------- */

struct adding {
    char text[24];
    unsigned calls;
};

static enum hf_status add_one(void *user, const struct hf_value *value,
                              const void **data, size_t *len)
{
    struct adding *adding = user;
    const char *now = hf_value_data(value, NULL);
    long n = now == NULL ? 0 : strtol(now, NULL, 10);
    adding->calls++;
    *len = (size_t)snprintf(adding->text, sizeof(adding->text), "%ld", n + 1);
    *data = adding->text;
    return HF_OK;
}

enum { PROCESSES = 8, INCREMENTS = 50 };

static int increment(const char *name)
{
    struct hf_client *client = open_client();
    struct adding adding;
    struct hf_error error = {0};
    for (int i = 0; i < INCREMENTS; i++) {
        enum hf_status status =
            hf_value_update(client, name, strlen(name), HF_WAIT_FOREVER,
                            add_one, &adding, NULL, &error);
        if (status != HF_OK) {
            printf("# %s: %s\n", hf_status_name(status), error.text);
            return 1;
        }
    }
    hf_client_close(client);
    return 0;
}

static void test_processes(void **state)
{
    const char *name = fresh_name();
    pid_t pids[PROCESSES];
    char want_text[24];
    (void)state;
    (void)world_url();
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            _exit(increment(name));
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    struct hf_client *client = open_client();
    struct hf_value *value = get(client, name);
    snprintf(want_text, sizeof(want_text), "%d", PROCESSES * INCREMENTS);
    assert_string_equal(hf_value_data(value, NULL), want_text);
    hf_value_free(value);
    hf_client_close(client);
}

static enum hf_status refuse(void *user, const struct hf_value *value,
                             const void **data, size_t *len)
{
    (void)user;
    (void)value;
    *data = "never";
    *len = 5;
    return HF_INTERNAL;
}

static enum hf_status delete_it(void *user, const struct hf_value *value,
                                const void **data, size_t *len)
{
    (void)user;
    (void)value;
    (void)data;
    (void)len;
    return HF_OK;
}

/* Another client writes between the read and the write of each try. */
struct rival {
    struct hf_client *client;
    const char *name;
    unsigned calls, writes;
};

static enum hf_status outrun(void *user, const struct hf_value *value,
                             const void **data, size_t *len)
{
    struct rival *rival = user;
    (void)value;
    if (rival->calls++ < rival->writes) {
        put(rival->client, rival->name, "rival", HF_VERSION_ANY);
    }
    *data = "ours";
    *len = 4;
    return HF_OK;
}

/* HF_BUSY from the callback is no reason to try again. */
static enum hf_status be_busy(void *user, const struct hf_value *value,
                              const void **data, size_t *len)
{
    (void)value;
    (void)data;
    (void)len;
    return ++*(int *)user == 1 ? HF_BUSY : HF_INTERNAL;
}

static void test_update_ended_as_busy(void **state)
{
    (void)state;
    int calls = 0;
    struct hf_client *client = open_client();
    const char *name = fresh_name();
    assert_int_equal(hf_value_update(client, name, strlen(name), PATIENCE_MS,
                                     be_busy, &calls, NULL, NULL),
                     HF_BUSY);
    assert_int_equal(calls, 1);
    hf_client_close(client);
}

static void test_update(void **state)
{
    struct hf_client *client = open_client();
    const char *name = fresh_name();
    size_t len = strlen(name);
    uint64_t version = 7;
    (void)state;
    assert_int_equal(
        hf_value_update(client, name, len, 0, refuse, NULL, &version, NULL),
        HF_INTERNAL);
    assert_int_equal(version, 0);
    expect(client, name, NULL, 0);
    struct rival rival = {client, name, 0, 2};
    assert_int_equal(hf_value_update(client, name, len, HF_WAIT_FOREVER, outrun,
                                     &rival, &version, NULL),
                     HF_OK);
    assert_int_equal(rival.calls, 3);
    expect(client, name, "ours", version);
    rival = (struct rival){client, name, 0, 99};
    assert_int_equal(
        hf_value_update(client, name, len, 0, outrun, &rival, &version, NULL),
        HF_BUSY);
    assert_int_equal(rival.calls, 1);
    for (int i = 0; i < 2; i++) { /* the second time there is none */
        assert_int_equal(hf_value_update(client, name, len, 0, delete_it, NULL,
                                         &version, NULL),
                         HF_OK);
        expect(client, name, NULL, 0);
    }
    hf_client_close(client);
}

/* ---- Lost replies ------------------------------------------------------ */

static struct proxy proxy;
static struct hf_client *direct;
static const char *lost_name;

/* HF_TEST_URL with the proxy's place in the place of the server's. */
static void say_proxied(char *out, size_t size, const char *path)
{
    const char *url = world_url();
    const char *at = strstr(url, path);
    assert_non_null(at);
    snprintf(out, size, "%.*s%s%s", (int)(at - url), url, proxy.path,
             at + strlen(path));
}

/* A client with its PUTs through the proxy, and one without. Their scripts are
 * known to the server. */
static struct hf_client *open_proxied(void)
{
    static int port = 5500; /* the name of a socket of PostgreSQL ends with it
                             */
    const char *path = getenv("HF_TEST_SOCKET");
    char url[400], at[108];
    struct hf_client *client = NULL;
    assert_non_null(path);
    if (world_is_postgres()) {
        size_t folder = (size_t)(strrchr(path, '.') - path);
        snprintf(at, sizeof(at), "%.*s.%d", (int)folder, path, ++port);
        proxy_start_at(&proxy, at, path);
        snprintf(url, sizeof(url), "%s&port=%d", world_url(), port);
    } else {
        proxy_start(&proxy, path);
        say_proxied(url, sizeof(url), path);
    }
    assert_int_equal(hf_client_open(url, NULL, &client, NULL), HF_OK);
    direct = open_client();
    lost_name = fresh_name();
    return client;
}

static void close_proxied(struct hf_client *client)
{
    hf_client_close(client);
    hf_client_close(direct);
    proxy_end(&proxy);
}

static void replace(void)
{
    (void)try_put(direct, lost_name, "other", HF_VERSION_ANY, NULL);
}

/* Executed once, and known to be. */
static void test_lost_reply(void **state)
{
    struct hf_client *client = open_proxied();
    (void)state;
    uint64_t first = put(client, lost_name, "one", 0);
    atomic_store(&proxy.loses_puts, 2);
    uint64_t second = put(client, lost_name, "two", first);
    assert_int_equal(atomic_load(&proxy.loses_puts), 0);
    expect(direct, lost_name, "two", second);
    atomic_store(&proxy.loses_puts, 1);
    uint64_t third = put(client, lost_name, "three", HF_VERSION_ANY);
    expect(direct, lost_name, "three", third);
    atomic_store(&proxy.loses_puts, 1);
    assert_int_equal(put(client, lost_name, NULL, third), 0);
    expect(direct, lost_name, NULL, 0);
    close_proxied(client);
}

/* Another write has replaced it: whether it came first cannot be known. */
static void test_lost_and_replaced(void **state)
{
    struct hf_client *client = open_proxied();
    uint64_t version = 7;
    struct adding adding = {.calls = 0};
    (void)state;
    uint64_t first = put(client, lost_name, "1", 0);
    proxy.on_lost = replace;
    atomic_store(&proxy.loses_puts, 1);
    assert_int_equal(try_put(client, lost_name, "2", first, &version),
                     HF_UNKNOWN);
    assert_int_equal(version, 0);
    atomic_store(&proxy.loses_puts, 1);
    assert_int_equal(try_put(client, lost_name, "2", HF_VERSION_ANY, &version),
                     HF_UNKNOWN);
    put(direct, lost_name, "5", HF_VERSION_ANY);
    atomic_store(&proxy.loses_puts, 1);
    assert_int_equal(hf_value_update(client, lost_name, strlen(lost_name),
                                     HF_WAIT_FOREVER, add_one, &adding,
                                     &version, NULL),
                     HF_UNKNOWN);
    assert_int_equal(adding.calls, 1);
    close_proxied(client);
}

static void take_away(void)
{
    (void)try_put(direct, lost_name, NULL, HF_VERSION_ANY, NULL);
}

/* A write of version 0 is sent again only with the version at which a read has
 * found it: after a delete "no value" is true again, and a copy of version 0
 * would bring the value back. */
static void test_lost_creation(void **state)
{
    struct hf_client *client = open_proxied();
    uint64_t version = 7;
    (void)state;
    atomic_store(&proxy.loses_puts, 2);
    uint64_t first = put(client, lost_name, "1", 0);
    assert_int_equal(atomic_load(&proxy.loses_puts), 0);
    expect(direct, lost_name, "1", first);
    put(direct, lost_name, NULL, HF_VERSION_ANY);
    proxy.on_lost = take_away;
    atomic_store(&proxy.loses_puts, 1);
    assert_int_equal(try_put(client, lost_name, "2", 0, &version), HF_UNKNOWN);
    assert_int_equal(version, 0);
    expect(direct, lost_name, NULL, 0);
    close_proxied(client);
}

/* The callback of an update closes the client: from then on all calls fail. */
static enum hf_status close_it(void *user, const struct hf_value *value,
                               const void **data, size_t *len)
{
    struct hf_client *client = user;
    struct hf_value *again = NULL;
    assert_int_equal(hf_value_version(value), 0);
    hf_client_close(client);
    assert_int_equal(hf_value_get(client, "a", 1, &again, NULL), HF_INVALID);
    *data = "1";
    *len = 1;
    return HF_OK;
}

static void test_closed_by_an_update(void **state)
{
    (void)state;
    struct hf_error error = {0};
    struct hf_client *client = open_client();
    struct hf_client *other = open_client();
    const char *name = fresh_name();
    assert_int_equal(hf_value_update(client, name, strlen(name),
                                     HF_WAIT_FOREVER, close_it, client, NULL,
                                     &error),
                     HF_CANCELLED);
    assert_int_equal(error.status, HF_CANCELLED);
    expect(other, name, NULL, 0);
    hf_client_close(other);
}

static enum hf_status interrupt_it(void *user, const struct hf_value *value,
                                   const void **data, size_t *len)
{
    (void)value;
    hf_client_interrupt(user);
    *data = "1";
    *len = 1;
    return HF_OK;
}

static void test_interrupted_in_an_update(void **state)
{
    (void)state;
    struct hf_error error = {0};
    struct hf_client *client = open_client();
    const char *name = fresh_name();
    assert_int_equal(hf_value_update(client, name, strlen(name),
                                     HF_WAIT_FOREVER, interrupt_it, client,
                                     NULL, &error),
                     HF_CANCELLED);
    assert_int_equal(error.status, HF_CANCELLED);
    expect(client, name, NULL, 0); /* a later call is not affected */
    hf_client_close(client);
}

#define EVERY_STORE                                                            \
    cmocka_unit_test(test_versions), cmocka_unit_test(test_delete),            \
        cmocka_unit_test(test_bytes), cmocka_unit_test(test_names),            \
        cmocka_unit_test(test_beside_a_lock),                                  \
        cmocka_unit_test(test_bad_arguments),                                  \
        cmocka_unit_test(test_processes), cmocka_unit_test(test_update),       \
        cmocka_unit_test(test_update_ended_as_busy),                           \
        cmocka_unit_test(test_closed_by_an_update),                            \
        cmocka_unit_test(test_interrupted_in_an_update)

int main(void)
{
    const struct CMUnitTest embedded[] = {EVERY_STORE};
    const struct CMUnitTest server[] = {
        EVERY_STORE,
        cmocka_unit_test(test_lost_reply),
        cmocka_unit_test(test_lost_and_replaced),
        cmocka_unit_test(test_lost_creation),
    };
    return world_is_local() ? cmocka_run_group_tests(embedded, NULL, NULL)
                            : cmocka_run_group_tests(server, NULL, NULL);
}
