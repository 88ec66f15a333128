/* SPDX-License-Identifier: Apache-2.0 */
/* What the embedded store reads from its file: records and entries, which
 * another member of its group or a fault may have damaged. Every field that is
 * read is within its bounds, and is written again as the same. Each record has
 * a checksum. The target makes it right, so that the fields after it are
 * reached; with one bit changed, the record is refused. */
#include "fuzz.h"

#include "core/owner.h"
#include "store/local/entry.h"
#include "store/local/record.h"
#include "store/local/sum.h"

/* As in record.c and entry.c; has_sum() fails if they differ. */
#define RECORD_KIND 0x68667233U
#define RECORD_CHECK_AT 28
#define ENTRY_KIND 0x68666532U
#define ENTRY_CHECK_AT 72

static uint32_t sum_at(const unsigned char *data, size_t at)
{
    uint32_t sum;
    memcpy(&sum, data + at, sizeof(sum));
    return sum;
}

static void put_sum(unsigned char *data, size_t len, uint32_t kind, size_t at)
{
    uint32_t sum = hf_sum(kind, data, len, at);
    memcpy(data + at, &sum, sizeof(sum));
}

static bool has_sum(const unsigned char *data, size_t len, uint32_t kind,
                    size_t at)
{
    return sum_at(data, at) == hf_sum(kind, data, len, at);
}

static void check_processes(const struct hf_processes *life)
{
    FUZZ_CHECK(life->count <= HF_LIFE_PROCESSES_MAX);
}

static void check_record(const unsigned char *data, size_t size)
{
    struct hf_record record;
    struct hf_record again;
    unsigned char out[HF_RECORD_BYTES_MAX];
    struct hf_clock_sample now = {.instant = {5000000000}, .floor = 1000};
    size_t used = hf_record_parse(data, size, &record);
    FUZZ_CHECK(used <= size);
    if (used == 0) {
        return;
    }
    FUZZ_CHECK(record.owner_len <= HF_RECORD_OWNER_MAX);
    FUZZ_CHECK(record.counter <= HF_FENCE_MAX && record.until.ns >= 0);
    check_processes(&record.life);
    (void)hf_record_is_taken(&record, now.instant);
    (void)hf_record_has_litter(&record, &now);
    (void)hf_record_is_idle(&record, hf_span_ms(3600000), &now);
    (void)hf_owner_is_ours(record.owner, record.owner_len);
    size_t len = hf_record_emit(&record, out);
    FUZZ_CHECK(len <= sizeof(out));
    FUZZ_CHECK(has_sum(out, len, RECORD_KIND, RECORD_CHECK_AT));
    FUZZ_CHECK(hf_record_parse(out, len, &again) == len);
    FUZZ_CHECK(again.counter == record.counter);
    FUZZ_CHECK(again.until.ns == record.until.ns);
    FUZZ_CHECK(again.is_owned == record.is_owned);
    FUZZ_CHECK(again.n_sharers == record.n_sharers &&
               again.n_waiters == record.n_waiters);
    FUZZ_CHECK(again.owner_len == record.owner_len &&
               memcmp(again.owner, record.owner, record.owner_len) == 0);
    FUZZ_CHECK(again.mark.fence == record.mark.fence &&
               again.mark.owner_len == record.mark.owner_len);
    out[len * 7 / 11] ^= (unsigned char)(1U << len % 8);
    FUZZ_CHECK(hf_record_parse(out, len, &again) == 0);
}

static void check_entry(const unsigned char *data, size_t size)
{
    struct hf_local_entry entry;
    struct hf_local_entry again;
    unsigned char out[HF_ENTRY_BYTES_MAX];
    unsigned char key[HF_ENTRY_KEY_LEN];
    if (!hf_entry_parse(data, size, &entry)) {
        return;
    }
    FUZZ_CHECK(entry.owner_len <= HF_OWNER_MAX);
    FUZZ_CHECK(entry.counter <= HF_FENCE_MAX);
    FUZZ_CHECK(entry.until.ns >= 0 && entry.queue.ns >= 0);
    check_processes(&entry.life);
    hf_entry_key(key, entry.cookie, HF_ENTRY_WAITER, entry.ticket, entry.owner,
                 entry.owner_len);
    size_t len = hf_entry_emit(&entry, out);
    FUZZ_CHECK(len <= sizeof(out) && hf_entry_parse(out, len, &again));
    FUZZ_CHECK(has_sum(out, len, ENTRY_KIND, ENTRY_CHECK_AT));
    FUZZ_CHECK(again.ticket == entry.ticket && again.cookie == entry.cookie);
    FUZZ_CHECK(again.until.ns == entry.until.ns &&
               again.queue.ns == entry.queue.ns);
    FUZZ_CHECK(again.owner_len == entry.owner_len &&
               memcmp(again.owner, entry.owner, entry.owner_len) == 0);
    out[len * 7 / 11] ^= (unsigned char)(1U << len % 8);
    FUZZ_CHECK(!hf_entry_parse(out, len, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char copy[HF_RECORD_BYTES_MAX];
    check_record(data, size);
    check_entry(data, size);
    size = size < sizeof(copy) ? size : sizeof(copy);
    if (size > 0) {
        memcpy(copy, data, size);
    }
    /* The checksum's extent follows from the fields: one of these lengths is
     * right. */
    for (size_t len = RECORD_CHECK_AT + 4; len <= size; len++) {
        put_sum(copy, len, RECORD_KIND, RECORD_CHECK_AT);
        check_record(copy, len);
    }
    for (size_t len = ENTRY_CHECK_AT + 16; len <= size; len++) {
        put_sum(copy, len, ENTRY_KIND, ENTRY_CHECK_AT);
        check_entry(copy, len);
    }
    return 0;
}
