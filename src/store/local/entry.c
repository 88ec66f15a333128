/* SPDX-License-Identifier: Apache-2.0 */
/* Entries as bytes; like records, they are void after a boot. */
#include "store/local/entry.h"

#include "base/assert.h"
#include "store/local/sum.h"

#include <string.h>

/* Bytes of the owner in a key: its random digits, which are unique. */
#define KEY_OWNER_LEN 32

_Static_assert(1 + 8 + 1 + 8 + KEY_OWNER_LEN == HF_ENTRY_KEY_LEN,
               "tag, queue, kind, ticket, owner");

/* Bits of head.flags. */
#define FLAG_SHARED 1U

#define KIND 0x68666532U /* "hfe2" */
#define CHECK_AT offsetof(struct entry_head, check)

struct entry_head {
    int64_t until_ns;
    int64_t queue_ns;
    uint64_t ticket;
    uint64_t counter;
    uint64_t cookie;
    struct hf_wake_address address;
    uint64_t pid_space;
    uint32_t check; /* hf_sum() of the whole entry */
    uint16_t permits;
    uint16_t owner_len;
    uint8_t flags;
    uint8_t life_count;
    uint8_t unused[6];
};

_Static_assert(sizeof(struct entry_head) +
                       sizeof(((struct hf_processes *)0)->of) + HF_OWNER_MAX <=
                   HF_ENTRY_BYTES_MAX,
               "any entry fits");

/* Big-endian, since LMDB compares keys as bytes. */
static unsigned char *put_u64(unsigned char *out, uint64_t value)
{
    for (int shift = 56; shift >= 0; shift -= 8) {
        *out++ = (unsigned char)(value >> shift);
    }
    return out;
}

void hf_entry_key(unsigned char out[HF_ENTRY_KEY_LEN], uint64_t queue_id,
                  enum hf_entry_kind kind, uint64_t ticket, const void *owner,
                  size_t owner_len)
{
    unsigned char *at = out;
    *at++ = HF_ENTRY_TAG;
    at = put_u64(at, queue_id);
    *at++ = (unsigned char)kind;
    at = put_u64(at, ticket);
    memset(at, 0, KEY_OWNER_LEN);
    if (owner != NULL) {
        memcpy(at, owner,
               owner_len < KEY_OWNER_LEN ? owner_len : KEY_OWNER_LEN);
    }
}

size_t hf_entry_emit(const struct hf_local_entry *entry,
                     unsigned char out[HF_ENTRY_BYTES_MAX])
{
    struct entry_head head = {
        .until_ns = entry->until.ns,
        .queue_ns = entry->queue.ns,
        .ticket = entry->ticket,
        .counter = entry->counter,
        .cookie = entry->cookie,
        .address = entry->address,
        .pid_space = entry->life.pid_space,
        .permits = entry->permits,
        .owner_len = entry->owner_len,
        .flags = entry->is_shared ? FLAG_SHARED : 0,
        .life_count = (uint8_t)entry->life.count,
    };
    size_t life_len = entry->life.count * sizeof(entry->life.of[0]);
    HF_ASSERT(entry->life.count <= HF_LIFE_PROCESSES_MAX);
    HF_ASSERT(entry->owner_len <= HF_OWNER_MAX);
    memcpy(out, &head, sizeof(head));
    memcpy(out + sizeof(head), entry->life.of, life_len);
    memcpy(out + sizeof(head) + life_len, entry->owner, entry->owner_len);
    size_t used = sizeof(head) + life_len + entry->owner_len;
    head.check = hf_sum(KIND, out, used, CHECK_AT);
    memcpy(out + CHECK_AT, &head.check, sizeof(head.check));
    return used;
}

bool hf_entry_parse(const unsigned char *data, size_t len,
                    struct hf_local_entry *out)
{
    struct entry_head head;
    if (len < sizeof(head)) {
        return false;
    }
    memcpy(&head, data, sizeof(head));
    size_t life_len = head.life_count * sizeof(out->life.of[0]);
    size_t used = sizeof(head) + life_len + head.owner_len;
    if (head.counter > HF_FENCE_MAX || head.until_ns < 0 || head.queue_ns < 0 ||
        head.life_count > HF_LIFE_PROCESSES_MAX ||
        head.owner_len > HF_OWNER_MAX || len != used ||
        head.check != hf_sum(KIND, data, used, CHECK_AT)) {
        return false;
    }
    out->until = (struct hf_instant){head.until_ns};
    out->queue = (struct hf_span){head.queue_ns};
    out->ticket = head.ticket;
    out->counter = head.counter;
    out->cookie = head.cookie;
    out->address = head.address;
    out->is_shared = (head.flags & FLAG_SHARED) != 0;
    out->permits = head.permits;
    out->owner_len = head.owner_len;
    out->life.count = head.life_count;
    out->life.pid_space = head.pid_space;
    memcpy(out->life.of, data + sizeof(head), life_len);
    memcpy(out->owner, data + sizeof(head) + life_len, head.owner_len);
    return true;
}
