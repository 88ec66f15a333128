/* SPDX-License-Identifier: Apache-2.0 */
/* NAMES, OWNERS AND SESSIONS AS KEYS
 *
 * A key is part of a path, and Consul refuses most that a path must escape. So
 * letters, digits and "-_.:@" stay as they are, and each other byte is written
 * as ~XX. A leading dot is, too: no name is "..", and none is "consul lock's".
 */
#include "store/consul/consul.h"
#include "store/ordered/wire_key.h"

#include <string.h>

static const struct hf_wire_escape escape = {'~', "-_.:@"};

static void say_name(struct hf_wire_text *text, struct hf_bytes name)
{
    const char *bytes = name.data;
    if (name.len > 0 && bytes[0] == '.') {
        hf_wire_text_say(text, "~2E");
        name = (struct hf_bytes){bytes + 1, name.len - 1};
    }
    hf_wire_escape_add(&escape, text, name);
}

void hf_consul_key_prefix(struct hf_wire_text *text, const char *prefix)
{
    while (*prefix != '\0') {
        size_t len = strcspn(prefix, "/");
        hf_wire_escape_add(&escape, text, (struct hf_bytes){prefix, len});
        prefix += len;
        if (*prefix == '/') {
            hf_wire_text_say(text, "/");
            prefix++;
        }
    }
}

void hf_consul_key_folder(struct hf_wire_text *text, const char *prefix,
                          struct hf_bytes name)
{
    hf_wire_text_say(text, prefix);
    say_name(text, name);
    hf_wire_text_say(text, "/");
}

void hf_consul_key_entry(struct hf_wire_text *text, const char *prefix,
                         const struct hf_wire_key *key)
{
    char session[HF_CONSUL_SESSION_LEN + 1];
    hf_consul_session_show(key->session, session);
    hf_consul_key_folder(text, prefix, key->name);
    hf_wire_text_say(text, session);
    hf_wire_key_add(&escape, text, key);
}

/* ---- Reading ------------------------------------------------------------- */

size_t hf_consul_name_read(char *name, size_t len)
{
    static const char dot[] = "~2E";
    bool has_dot = len > 2 && memcmp(name, dot, 3) == 0;
    size_t first = has_dot ? 1 : 0;
    char *rest = name + 3 * first;
    size_t read = hf_wire_escape_read(&escape, rest, len - 3 * first);
    if (read == SIZE_MAX || (!has_dot && read > 0 && name[0] == '.')) {
        return SIZE_MAX;
    }
    if (has_dot) {
        name[0] = '.';
        memmove(name + 1, rest, read);
    }
    return read + first;
}

void hf_consul_key_read(char *rest, size_t len, struct hf_wire_entry *out)
{
    uint8_t session[HF_SESSION_ID_LEN];
    size_t n = HF_CONSUL_SESSION_LEN;
    hf_wire_key_foreign(rest, len, out);
    if (len >= n && hf_consul_session_read(rest, session)) {
        (void)hf_wire_key_read(&escape, rest + n, len - n, session, out);
    }
}

/* ---- Sessions ------------------------------------------------------------ */

/* Before which of its bytes a UUID has a dash. */
static bool has_dash(unsigned byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void hf_consul_session_show(const uint8_t session[HF_SESSION_ID_LEN],
                            char out[HF_CONSUL_SESSION_LEN + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < HF_SESSION_ID_LEN; i++) {
        if (has_dash(i)) {
            *out++ = '-';
        }
        *out++ = digits[session[i] >> 4];
        *out++ = digits[session[i] & 15];
    }
    *out = '\0';
}

/* Lower case alone: each id has one form. */
static int digit(char byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

bool hf_consul_session_read(const char *text, uint8_t out[HF_SESSION_ID_LEN])
{
    for (unsigned i = 0; i < HF_SESSION_ID_LEN; i++) {
        if (has_dash(i) && *text++ != '-') {
            return false;
        }
        int high = digit(text[0]);
        int low = high < 0 ? -1 : digit(text[1]);
        if (low < 0) {
            return false;
        }
        out[i] = (uint8_t)(high << 4 | low);
        text += 2;
    }
    return true;
}
