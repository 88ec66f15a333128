/* SPDX-License-Identifier: Apache-2.0 */
/* What the embedded store reads from its file, which anybody who may write the
 * folder may have damaged: records and entries. Whatever is read is within its
 * bounds, and written again it is the same. */
#include "fuzz.h"

#include "core/owner.h"
#include "store/local/entry.h"
#include "store/local/record.h"

static void check_processes(const struct hf_processes *life)
{
    FUZZ_CHECK(life->count <= HF_LIFE_PROCESSES_MAX);
}

static void check_record(const unsigned char *data, size_t size)
{
    struct hf_record record;
    struct hf_record again;
    unsigned char out[HF_RECORD_BYTES_MAX];
    struct hf_moment now = {.boot_ns = 5000000000, .floor = 1000};
    size_t used = hf_record_parse(data, size, &record);
    FUZZ_CHECK(used <= size);
    if (used == 0) {
        return;
    }
    FUZZ_CHECK(record.owner_len <= HF_RECORD_OWNER_MAX);
    FUZZ_CHECK(record.counter <= HF_FENCE_MAX && record.until_ns >= 0);
    check_processes(&record.life);
    (void)hf_record_is_taken(&record, now.boot_ns);
    (void)hf_record_has_litter(&record, &now);
    (void)hf_record_is_idle(&record, 3600000000000, &now);
    (void)hf_owner_is_ours(record.owner, record.owner_len);
    size_t len = hf_record_emit(&record, out);
    FUZZ_CHECK(len <= sizeof(out));
    FUZZ_CHECK(hf_record_parse(out, len, &again) == len);
    FUZZ_CHECK(again.counter == record.counter);
    FUZZ_CHECK(again.until_ns == record.until_ns);
    FUZZ_CHECK(again.is_owned == record.is_owned);
    FUZZ_CHECK(again.n_sharers == record.n_sharers &&
               again.n_waiters == record.n_waiters);
    FUZZ_CHECK(again.owner_len == record.owner_len &&
               memcmp(again.owner, record.owner, record.owner_len) == 0);
}

static void check_entry(const unsigned char *data, size_t size)
{
    struct hf_entry entry;
    struct hf_entry again;
    unsigned char out[HF_ENTRY_BYTES_MAX];
    unsigned char key[HF_ENTRY_KEY_LEN];
    if (!hf_entry_parse(data, size, &entry)) {
        return;
    }
    FUZZ_CHECK(entry.owner_len <= HF_OWNER_MAX);
    FUZZ_CHECK(entry.counter <= HF_FENCE_MAX);
    FUZZ_CHECK(entry.until_ns >= 0 && entry.queue_ns >= 0);
    check_processes(&entry.life);
    hf_entry_key(key, entry.cookie, HF_ENTRY_WAITER, entry.ticket, entry.owner,
                 entry.owner_len);
    size_t len = hf_entry_emit(&entry, out);
    FUZZ_CHECK(len <= sizeof(out) && hf_entry_parse(out, len, &again));
    FUZZ_CHECK(again.ticket == entry.ticket && again.cookie == entry.cookie);
    FUZZ_CHECK(again.until_ns == entry.until_ns &&
               again.queue_ns == entry.queue_ns);
    FUZZ_CHECK(again.owner_len == entry.owner_len &&
               memcmp(again.owner, entry.owner, entry.owner_len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_record(data, size);
    check_entry(data, size);
    return 0;
}
