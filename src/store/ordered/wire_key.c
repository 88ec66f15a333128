/* SPDX-License-Identifier: Apache-2.0 */
/* Why two names never share a key: the mark of an escape is escaped itself,
 * and so is '/' in each table. So two texts never have one escaped form, and a
 * name ends at the first '/'. A wire that needs other bytes escaped passes
 * another table.
 *
 * A key is read as a whole or not at all: what is read is written again as the
 * same bytes, so a key of ours is found, and deleted, by what was read of it.
 * Any other was written by another program: hf_wire_key_foreign() takes it for
 * an exclusive entry, so we wait until it is gone. The mode and the permits are
 * in the key: no later write of the value changes them, and all clients judge
 * one list alike.
 *
 * Cost: one pass, in place; no allocation but that of the text. */
#include "store/ordered/wire_key.h"

#include "store/ordered/ordered.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct hf_wire_escape hf_wire_escape_printable = {
    '%', "!\"#$&'()*+,-.:;<=>?@[\\]^_`{|}~"};

static const char hex[] = "0123456789ABCDEF";

static bool is_plain(const struct hf_wire_escape *escape, unsigned char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') ||
           (byte != '\0' && strchr(escape->plain, byte) != NULL);
}

void hf_wire_escape_add(const struct hf_wire_escape *escape,
                        struct hf_wire_text *text, struct hf_bytes bytes)
{
    const unsigned char *from = bytes.data;
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = from[i];
        char escaped[] = {escape->mark, hex[byte >> 4], hex[byte & 15]};
        if (is_plain(escape, byte)) {
            hf_wire_text_add(text, &byte, 1);
        } else {
            hf_wire_text_add(text, escaped, sizeof(escaped));
        }
    }
}

static int digit(char byte)
{
    const char *at = byte == '\0' ? NULL : strchr(hex, byte);
    return at == NULL ? -1 : (int)(at - hex);
}

/** The byte at the start. @return how many bytes of the text it takes; 0:
 * hf_wire_escape_add() does not write it so. */
static size_t read_byte(const struct hf_wire_escape *escape, const char *text,
                        size_t len, unsigned char *out)
{
    *out = (unsigned char)text[0];
    if (*out != (unsigned char)escape->mark) {
        return is_plain(escape, *out) ? 1 : 0;
    }
    int high = len > 2 ? digit(text[1]) : -1;
    int low = high < 0 ? -1 : digit(text[2]);
    if (low < 0) {
        return 0;
    }
    *out = (unsigned char)(high << 4 | low);
    return is_plain(escape, *out) ? 0 : 3;
}

size_t hf_wire_escape_read(const struct hf_wire_escape *escape, char *text,
                           size_t len)
{
    unsigned char byte;
    size_t n = 0;
    size_t used = 1;
    for (size_t i = 0; i < len && used > 0; i += used) {
        used = read_byte(escape, text + i, len - i, &byte);
    }
    if (used == 0) {
        return SIZE_MAX;
    }
    for (size_t i = 0; i < len; i += used) {
        used = read_byte(escape, text + i, len - i, &byte);
        text[n++] = (char)byte;
    }
    return n;
}

/* ---- Mode, ttl and terms ------------------------------------------------ */

static void add_mode(struct hf_wire_text *text, const struct hf_wire_key *key)
{
    char mode[HF_TEXT_WORD];
    char terms[HF_TEXT_SHORT] = "";
    if (key->permits > 0) {
        snprintf(terms, sizeof(terms), "p%u", (unsigned)key->permits);
    }
    snprintf(mode, sizeof(mode), "-%c%lld%s-",
             key->mode == HF_SHARED ? 's' : 'x', (long long)key->ttl_s, terms);
    hf_wire_text_say(text, mode);
}

/** A ttl in seconds, or a number of permits: ours have at most eight digits,
 * and none before them that is 0. @return how many were read. */
static size_t read_number(const char *text, size_t len, int64_t *out)
{
    size_t n = 0;
    *out = 0;
    while (n < len && n < 8 && text[n] >= '0' && text[n] <= '9') {
        *out = 10 * *out + (text[n++] - '0');
    }
    return n > 1 && text[0] == '0' ? 0 : n;
}

/** Mode, ttl and terms. @return its length; 0: it is none. */
static size_t read_mode(const char *text, size_t len, struct hf_wire_entry *out)
{
    int64_t ttl_s;
    int64_t permits = 0;
    bool has_permits = false;
    if (len < 4 || text[0] != '-' || (text[1] != 'x' && text[1] != 's')) {
        return 0;
    }
    size_t n = 2 + read_number(text + 2, len - 2, &ttl_s);
    if (n < len && text[n] == 'p' && text[1] == 's') {
        n += 1 + read_number(text + n + 1, len - n - 1, &permits);
        has_permits = true;
    }
    if (ttl_s == 0 || has_permits != (permits > 0) || permits > UINT16_MAX ||
        n == len || text[n] != '-') {
        return 0;
    }
    out->entry.mode = text[1] == 's' ? HF_SHARED : HF_EXCLUSIVE;
    out->permits = (uint16_t)permits;
    out->born_ttl_s = out->ttl_s = ttl_s;
    return n + 1;
}

void hf_wire_key_add(const struct hf_wire_escape *escape,
                     struct hf_wire_text *text, const struct hf_wire_key *key)
{
    add_mode(text, key);
    hf_wire_escape_add(escape, text, key->owner);
}

bool hf_wire_key_read(const struct hf_wire_escape *escape, char *text,
                      size_t len, const uint8_t session[HF_SESSION_ID_LEN],
                      struct hf_wire_entry *out)
{
    struct hf_wire_entry read = *out;
    size_t n = read_mode(text, len, &read);
    size_t owner_len =
        n == 0 ? SIZE_MAX : hf_wire_escape_read(escape, text + n, len - n);
    if (owner_len == SIZE_MAX) {
        return false;
    }
    *out = read;
    out->owner = (struct hf_bytes){text + n, owner_len};
    memcpy(out->entry.owner.session, session, sizeof(out->born));
    memcpy(out->born, session, sizeof(out->born));
    hf_ordered_attempt(out->owner, out->entry.owner.attempt);
    return true;
}

void hf_wire_key_foreign(const char *text, size_t len,
                         struct hf_wire_entry *out)
{
    out->entry.mode = HF_EXCLUSIVE;
    out->ttl_s = out->born_ttl_s = 0;
    memset(&out->entry.owner, 0, sizeof(out->entry.owner));
    out->owner = (struct hf_bytes){text, len};
}

/* ---- Sessions ------------------------------------------------------------ */

uint64_t hf_wire_id_of(const uint8_t session[HF_SESSION_ID_LEN])
{
    uint64_t id = 0;
    for (unsigned i = 0; i < 8; i++) {
        id = id << 8 | session[i];
    }
    return id;
}

void hf_wire_session_of(uint64_t id, uint8_t out[HF_SESSION_ID_LEN])
{
    memset(out, 0, HF_SESSION_ID_LEN);
    for (unsigned i = 0; i < 8; i++) {
        out[i] = (uint8_t)(id >> (56 - 8 * i));
    }
}

void hf_wire_id_add(struct hf_wire_text *text,
                    const uint8_t session[HF_SESSION_ID_LEN])
{
    char shown[HF_TEXT_NUMBER];
    snprintf(shown, sizeof(shown), "%" PRIx64, hf_wire_id_of(session));
    hf_wire_text_say(text, shown);
}

size_t hf_wire_id_read(const char *text, size_t len,
                       uint8_t out[HF_SESSION_ID_LEN])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t id = 0;
    size_t n = 0;
    while (n < len && n < 16 && text[n] != '\0') {
        const char *at = strchr(digits, text[n]);
        if (at == NULL) {
            break;
        }
        id = id << 4 | (uint64_t)(at - digits);
        n++;
    }
    hf_wire_session_of(id, out);
    return n > 1 && text[0] == '0' ? 0 : n;
}

/* ---- Values -------------------------------------------------------------- */

void hf_wire_value_add(struct hf_wire_text *text,
                       const struct hf_wire_change *change)
{
    hf_wire_text_number(text, (uint64_t)change->ttl_s);
    if (change->note.len > 0) {
        hf_wire_text_say(text, " ");
        hf_wire_text_add(text, change->note.data, change->note.len);
    }
}

void hf_wire_value_read(char *value, size_t len, struct hf_wire_entry *out)
{
    int64_t ttl_s;
    size_t n = read_number(value, len, &ttl_s);
    bool has_note = n + 1 < len && value[n] == ' ';
    if (n == 0 || out->born_ttl_s == 0 || (n < len && !has_note)) {
        return; /* of another program */
    }
    out->ttl_s = ttl_s;
    if (has_note) {
        out->note = (struct hf_bytes){value + n + 1, len - n - 1};
    }
}
