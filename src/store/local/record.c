/* SPDX-License-Identifier: Apache-2.0 */
/* Records as bytes: a fixed head, the processes, the owner. In the machine's
 * own byte order: a file never outlives a boot, so it never travels. */
#include "store/local/record.h"

#include "base/assert.h"

#include <string.h>

#define FLAG_OWNED 1U
#define FLAG_LAST 2U

struct head {
    uint64_t counter;
    int64_t until_ns;
    uint64_t pid_space;
    uint16_t owner_len;
    uint8_t flags;
    uint8_t life_count;
    uint32_t check; /* HEAD_CHECK: what is not a record is not read as one */
};

#define HEAD_CHECK 0x68667231U /* "hfr1" */

_Static_assert(sizeof(struct head) + sizeof(((struct hf_processes *)0)->of) +
                       HF_RECORD_OWNER_MAX <=
                   HF_RECORD_BYTES_MAX,
               "any record fits");

size_t hf_record_emit(const struct hf_record *record,
                      unsigned char out[HF_RECORD_BYTES_MAX])
{
    struct head head = {
        .counter = record->counter,
        .until_ns = record->until_ns,
        .pid_space = record->life.pid_space,
        .owner_len = record->owner_len,
        .flags = (uint8_t)((record->is_owned ? FLAG_OWNED : 0) |
                           (record->has_last ? FLAG_LAST : 0)),
        .life_count = (uint8_t)record->life.count,
        .check = HEAD_CHECK,
    };
    size_t life_len = record->life.count * sizeof(record->life.of[0]);
    size_t used = sizeof(head);
    HF_ASSERT(record->life.count <= HF_LIFE_PROCESSES_MAX);
    HF_ASSERT(record->owner_len <= HF_RECORD_OWNER_MAX);
    memcpy(out, &head, sizeof(head));
    memcpy(out + used, record->life.of, life_len);
    used += life_len;
    memcpy(out + used, record->owner, record->owner_len);
    return used + record->owner_len;
}

size_t hf_record_parse(const unsigned char *data, size_t len,
                       struct hf_record *out)
{
    struct head head;
    if (len < sizeof(head)) {
        return 0;
    }
    memcpy(&head, data, sizeof(head));
    size_t life_len = head.life_count * sizeof(out->life.of[0]);
    if (head.check != HEAD_CHECK || head.life_count > HF_LIFE_PROCESSES_MAX ||
        head.owner_len > HF_RECORD_OWNER_MAX ||
        len < sizeof(head) + life_len + head.owner_len) {
        return 0;
    }
    out->counter = head.counter;
    out->until_ns = head.until_ns;
    out->is_owned = (head.flags & FLAG_OWNED) != 0;
    out->has_last = (head.flags & FLAG_LAST) != 0;
    out->owner_len = head.owner_len;
    out->life.count = head.life_count;
    out->life.pid_space = head.pid_space;
    memcpy(out->life.of, data + sizeof(head), life_len);
    memcpy(out->owner, data + sizeof(head) + life_len, head.owner_len);
    return sizeof(head) + life_len + head.owner_len;
}
