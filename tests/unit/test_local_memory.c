/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded store in a process that may map no more memory. LMDB unmaps a
 * file before it maps its new size: if that fails, requests fail until there is
 * memory, and none accesses the old map. */
/* link: -Wl,--wrap=clock_gettime */
#include "local_fixture.h"

#include "core/limits.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:host:1:1"
#define TTL_MS 60000 /* longer than a test: no lease ends by itself */
#define ID "00000000000000000000000000000001"

/* Less than a step of growth, which is 1 MiB or more. */
#define SPARE_BYTES (512 << 10)

/* ---- The limit --------------------------------------------------------- */

static void limit_memory(void)
{
    unsigned long pages = 0;
    struct rlimit limit;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + SPARE_BYTES;
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static void unlimit_memory(void)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static void no_memory(const struct hf_answer *answer)
{
    assert_int_equal(answer->verdict, HF_VERDICT_ERROR);
    assert_int_equal(answer->fault, HF_NO_MEMORY);
    assert_non_null(strstr(answer->reason, "out of memory"));
}

static const char *folder_of(void **state)
{
    return ((const struct fixture *)*state)->folder;
}

static int tear_down_unlimited(void **state)
{
    unlimit_memory();
    return tear_down(state);
}

/* ---- Locks ------------------------------------------------------------- */

static off_t size_of(const char *folder, const char *file)
{
    char path[100];
    struct stat about;
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    assert_int_equal(stat(path, &about), 0);
    return about.st_size;
}

static const struct hf_answer *hold(struct driver *d, unsigned i)
{
    char name[1000];
    snprintf(name, sizeof(name), "%0900u-%u", 0U, i);
    return acquire(d, name, A, TTL_MS, 0);
}

/* Another client makes the file longer. */
static void test_follow_locks(void **state)
{
    struct driver *d = driver_of(state);
    const char *folder = folder_of(state);
    struct driver other;
    driver_start(&other, folder);
    uint64_t fence = granted(acquire(d, "job", A, TTL_MS, 0));
    off_t before = size_of(folder, "locks.mdb");
    for (unsigned i = 0; size_of(folder, "locks.mdb") == before; i++) {
        granted(hold(&other, i));
    }
    limit_memory();
    no_memory(confirm(d, "job", A, fence, TTL_MS, false));
    no_memory(confirm(d, "job", A, fence, TTL_MS, false));
    granted(hold(&other, 0));
    unlimit_memory();
    granted(confirm(d, "job", A, fence, TTL_MS, false));
    driver_close(&other);
}

/* The file cannot grow; what is in it can be used. */
static void test_grow_locks(void **state)
{
    struct driver *d = driver_of(state);
    const char *folder = folder_of(state);
    unsigned n = 0;
    uint64_t fence = granted(acquire(d, "job", A, TTL_MS, 0));
    off_t before = size_of(folder, "locks.mdb");
    limit_memory();
    while (hold(d, n)->verdict == HF_VERDICT_OK) {
        n++;
    }
    no_memory(&d->answer);
    no_memory(hold(d, n));
    granted(confirm(d, "job", A, fence, TTL_MS, false));
    unlimit_memory();
    granted(hold(d, n));
    granted(confirm(d, "job", A, fence, TTL_MS, false));
    assert_int_equal(size_of(folder, "locks.mdb"), 2 * before);
}

/* ---- Values ------------------------------------------------------------ */

static const struct hf_answer *put(struct driver *d, unsigned i)
{
    static char data[HF_VALUE_MAX];
    char name[20];
    snprintf(name, sizeof(name), "v%u", i);
    memset(data, 'v', sizeof(data));
    struct hf_ask ask = {
        .cookie = 7,
        .verb = HF_VERB_PUT,
        .name = name,
        .name_len = strlen(name),
        .owner = ID,
        .owner_len = HF_WRITE_ID_LEN,
        .counter = HF_VERSION_ANY,
        .value = {data, sizeof(data)},
    };
    return driver_ask(d, &ask);
}

static const struct hf_answer *get(struct driver *d)
{
    struct hf_ask ask = {
        .cookie = 7, .verb = HF_VERB_GET, .name = "v0", .name_len = 2};
    return driver_ask(d, &ask);
}

static void test_follow_values(void **state)
{
    struct driver *d = driver_of(state);
    const char *folder = folder_of(state);
    struct driver other;
    driver_start(&other, folder);
    granted(put(d, 0));
    for (unsigned i = 1; i < 12; i++) {
        granted(put(&other, i));
    }
    limit_memory();
    no_memory(get(d));
    no_memory(get(d));
    no_memory(put(d, 0));
    unlimit_memory();
    granted(get(d));
    granted(put(d, 0));
    driver_close(&other);
}

static void test_grow_values(void **state)
{
    struct driver *d = driver_of(state);
    unsigned n = 0;
    granted(put(d, n));
    limit_memory();
    while (put(d, n)->verdict == HF_VERDICT_OK) {
        n++;
    }
    no_memory(&d->answer);
    no_memory(put(d, n));
    unlimit_memory();
    granted(get(d));
    granted(put(d, n));
}

int main(void)
{
#define IN_FOLDER(test)                                                        \
    cmocka_unit_test_setup_teardown(test, set_up, tear_down_unlimited)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_follow_locks),
        IN_FOLDER(test_grow_locks),
        IN_FOLDER(test_follow_values),
        IN_FOLDER(test_grow_values),
    };
    return cmocka_run_group_tests_name("local_memory", tests, NULL, NULL);
}
