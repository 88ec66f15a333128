/* SPDX-License-Identifier: Apache-2.0 */
/* Names of nodes of ZooKeeper, and the texts that the stores of ordered entries
 * keep: marks of --once, and what a replaced entry has. What is read as
 * Holdfast's is written again as the same text; any other entry is an exclusive
 * one of an owner that is that text, and any other name is none. A sequence
 * orders the entries as the server counts. */
/* library: store-zookeeper-objects */
#include "fuzz.h"

#include "store/ordered/mark_text.h"
#include "store/ordered/wire_key.h"
#include "store/zookeeper/calls.h"
#include "store/zookeeper/key.h"

#define CZXID 4711

/* As the server writes it: a sign, and ten digits at least. */
static void check_sequence(const char *node, uint32_t sequence, size_t len)
{
    char shown[24];
    int64_t value = (int32_t)sequence;
    snprintf(shown, sizeof(shown), "%s%010lld", value < 0 ? "-" : "",
             (long long)(value < 0 ? -value : value));
    FUZZ_CHECK(len <= strlen(node) && strcmp(node + len, shown) == 0);
    FUZZ_CHECK(hf_zk_number(CZXID, sequence) > CZXID);
    FUZZ_CHECK(hf_zk_number(CZXID, sequence) - CZXID - 1 == sequence);
    FUZZ_CHECK(hf_zk_key_is_last(sequence) ==
               (value < 0 || value == INT32_MAX));
}

static void check_ours(const char *node, size_t len,
                       const struct hf_wire_entry *entry)
{
    struct hf_wire_key key = {.session = entry->born,
                              .owner = entry->owner,
                              .mode = entry->entry.mode,
                              .permits = entry->permits,
                              .ttl_s = entry->born_ttl_s};
    char *again = hf_zk_key_entry(&key);
    FUZZ_CHECK(again != NULL && strlen(again) == len);
    FUZZ_CHECK(memcmp(again, node, len) == 0);
    FUZZ_CHECK(memcmp(entry->born, entry->entry.owner.session,
                      sizeof(entry->born)) == 0);
    free(again);
}

static void check_foreign(const char *node, const struct hf_wire_entry *entry)
{
    static const struct hf_entry_owner none;
    FUZZ_CHECK(entry->owner.len == strlen(node));
    FUZZ_CHECK(memcmp(entry->owner.data, node, entry->owner.len) == 0);
    FUZZ_CHECK(entry->entry.mode == HF_EXCLUSIVE && entry->permits == 0);
    FUZZ_CHECK(memcmp(&entry->entry.owner, &none, sizeof(none)) == 0);
    FUZZ_CHECK(entry->ttl_s == 0);
}

static void check_node(const char *node)
{
    uint32_t sequence;
    size_t len = 0;
    struct hf_wire_entry entry;
    char *copy = fuzz_copy(node);
    bool is_contender = hf_zk_key_sequence(node, &sequence, &len);
    hf_zk_key_read(copy, &entry);
    FUZZ_CHECK(is_contender || entry.born_ttl_s == 0);
    if (is_contender) {
        check_sequence(node, sequence, len);
    }
    if (entry.born_ttl_s > 0) {
        check_ours(node, len, &entry);
    } else {
        check_foreign(node, &entry);
    }
    free(copy);
}

/* The last part of a container's path, or of a mark's. */
static void check_name(const char *node)
{
    char *copy = fuzz_copy(node);
    bool is_mark = hf_zk_mark_cut(copy);
    size_t len = hf_zk_key_name(copy);
    if (len != SIZE_MAX) {
        char *again = hf_zk_key_folder("", (struct hf_bytes){copy, len});
        FUZZ_CHECK(again != NULL);
        size_t again_len = strlen(again);
        FUZZ_CHECK(strncmp(node, again, again_len) == 0);
        FUZZ_CHECK(strcmp(node + again_len, is_mark ? "%once" : "") == 0);
        free(again);
    }
    free(copy);
}

static void check_mark(struct hf_bytes text)
{
    struct hf_ordered_mark mark;
    char again[HF_ORDERED_MARK_TEXT_MAX];
    if (!hf_ordered_mark_read(text, &mark)) {
        return;
    }
    FUZZ_CHECK(mark.fence > 0 && mark.start_ms >= 0 && mark.length_ms > 0);
    FUZZ_CHECK(hf_ordered_mark_write(&mark, again) == text.len);
    FUZZ_CHECK(memcmp(again, text.data, text.len) == 0);
    FUZZ_CHECK(hf_ordered_mark_left(&mark, mark.start_ms) == mark.length_ms);
    FUZZ_CHECK(hf_ordered_mark_left(&mark, mark.start_ms + mark.length_ms) ==
               0);
    FUZZ_CHECK(!hf_ordered_mark_wins(&mark, &mark));
}

static void check_value(char *value, size_t len)
{
    struct hf_wire_entry entry = {.born_ttl_s = 30, .ttl_s = -1};
    struct hf_wire_text again = {0};
    hf_wire_value_read(value, len, &entry);
    if (entry.ttl_s == -1) {
        FUZZ_CHECK(entry.note.len == 0);
        return;
    }
    struct hf_wire_change change = {.ttl_s = entry.ttl_s, .note = entry.note};
    hf_wire_value_add(&again, &change);
    FUZZ_CHECK(again.len == len && memcmp(again.bytes, value, len) == 0);
    hf_wire_text_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    check_node(text);
    check_name(text);
    check_mark((struct hf_bytes){text, size});
    check_value(text, size);
    free(text);
    return 0;
}
