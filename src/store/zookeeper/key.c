/* SPDX-License-Identifier: Apache-2.0 */
/* NAMES AND OWNERS AS NODES, NUMBERS
 *
 * Printable ASCII stays as it is, but '/' and '%', which are written as %XX, as
 * every other byte is. So each name has one form, no two names have the same,
 * and no name has nodes below another one. ZooKeeper refuses "." and "..", and
 * keeps "/zookeeper" for itself: the first byte of such a name is escaped too.
 *
 * The number of an entry is
 *
 *     czxid of its container + 1 + its sequence
 *
 * since one request lists the names of the entries with the container's Stat;
 * the czxid of each entry would take one more request for each. It rises as
 * fences must, also when the container was removed, and made again: the
 * sequence counts the nodes created in the container, each of them was a
 * transaction of its own, after that of the container. So the number of an
 * entry is at most its czxid, and a container that is made later has a greater
 * czxid than all of these.
 *
 * The sequence is a signed number of 32 bits. After 2,147,483,647 entries of
 * one container it stays there (3.8.0: the count is written only if it is
 * greater), or goes on with negative ones while creates are under way, so
 * several entries have the same. None is granted by such a sequence (create.c).
 * The container begins anew when it was removed: by the server, when its name
 * was unused for a minute, or by hand. Negative ones are read as unsigned: as
 * the latest. */
#include "store/zookeeper/key.h"
#include "store/ordered/wire_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Before the sequence: of Curator's locks, which is ours too, and of kazoo's.
 */
static const char mark[] = "-lock-";
static const char mark_kazoo[] = "__lock__";

/* Bytes of a sequence without its sign, as the server writes it. */
#define DIGITS 10

static bool is_reserved(struct hf_bytes bytes)
{
    static const char own[] = "zookeeper";
    const char *text = bytes.data;
    return (bytes.len > 0 && text[0] == '.') ||
           (bytes.len == sizeof(own) - 1 && memcmp(text, own, bytes.len) == 0);
}

static void say_name(struct hf_wire_text *text, struct hf_bytes name)
{
    const char *bytes = name.data;
    if (is_reserved(name)) {
        hf_wire_text_say(text, bytes[0] == '.' ? "%2E" : "%7A");
        name = (struct hf_bytes){bytes + 1, name.len - 1};
    }
    hf_wire_escape_add(&hf_wire_escape_printable, text, name);
}

char *hf_zk_key_folder(const char *base, struct hf_bytes name)
{
    struct hf_wire_text path = {0};
    hf_wire_text_say(&path, base);
    say_name(&path, name);
    return hf_wire_text_take(&path);
}

char *hf_zk_key_entry(const struct hf_wire_key *key)
{
    struct hf_wire_text node = {0};
    hf_wire_id_add(&node, key->session);
    hf_wire_key_add(&hf_wire_escape_printable, &node, key);
    hf_wire_text_say(&node, mark);
    return hf_wire_text_take(&node);
}

char *hf_zk_key_join(const char *folder, const char *node)
{
    size_t size = strlen(folder) + strlen(node) + 2;
    char *out = malloc(size);
    if (out != NULL) {
        snprintf(out, size, "%s/%s", folder, node);
    }
    return out;
}

/* ---- Numbers ------------------------------------------------------------- */

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t end_len = strlen(end);
    return len >= end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

bool hf_zk_key_sequence(const char *node, uint32_t *sequence, size_t *len)
{
    size_t end = strlen(node);
    int64_t value = 0;
    int64_t power = 1;
    size_t at = end;
    while (at > 0 && end - at < DIGITS && node[at - 1] >= '0' &&
           node[at - 1] <= '9') {
        value += power * (node[--at] - '0');
        power *= 10;
    }
    if (end - at != DIGITS) {
        return false;
    }
    /* "-lock-0000000001", and after the wrap "-lock--2147483648". */
    bool is_negative =
        at > 1 && node[at - 1] == '-' &&
        (ends_with(node, at - 1, mark) || ends_with(node, at - 1, mark_kazoo));
    at -= is_negative;
    value = is_negative ? -value : value;
    *sequence = (uint32_t)value;
    *len = at;
    return value >= INT32_MIN && value <= INT32_MAX;
}

uint64_t hf_zk_number(int64_t container_czxid, uint32_t sequence)
{
    return (uint64_t)container_czxid + 1 + sequence;
}

/* ---- Reading ------------------------------------------------------------- */

void hf_zk_key_read(char *copy, struct hf_wire_entry *out)
{
    uint32_t sequence;
    size_t len;
    uint8_t session[HF_SESSION_ID_LEN];
    bool has_sequence = hf_zk_key_sequence(copy, &sequence, &len);
    *out = (struct hf_wire_entry){.ttl_s = 0};
    hf_wire_key_foreign(copy, strlen(copy), out);
    if (!has_sequence || !ends_with(copy, len, mark)) {
        return;
    }
    len -= sizeof(mark) - 1;
    size_t n = hf_wire_id_read(copy, len, session);
    if (n > 0) {
        (void)hf_wire_key_read(&hf_wire_escape_printable, copy + n, len - n,
                               session, out);
    }
}

/* The folders of sessions and of values begin with a '%' that is no escape. */
size_t hf_zk_key_name(char *text)
{
    bool is_first_escaped =
        strncmp(text, "%2E", 3) == 0 || strncmp(text, "%7A", 3) == 0;
    size_t first = is_first_escaped ? 1 : 0;
    char *rest = text + 3 * first;
    size_t len =
        hf_wire_escape_read(&hf_wire_escape_printable, rest, strlen(rest));
    if (len == SIZE_MAX || len + first == 0) {
        return SIZE_MAX;
    }
    if (is_first_escaped) {
        text[0] = text[1] == '2' ? '.' : 'z';
        memmove(text + 1, rest, len);
    }
    bool is_ours =
        is_reserved((struct hf_bytes){text, len + first}) == is_first_escaped;
    return is_ours ? len + first : SIZE_MAX;
}
