/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all targets: libFuzzer's entry point, a check that is always on,
 * and a reader that turns bytes into decisions. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One input. @return 0: it may join the corpus; -1: it need not. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Always on. abort(), so that the input is kept. */
#define FUZZ_CHECK(condition)                                                  \
    ((condition) ? (void)0 : fuzz_failed(#condition, __FILE__, __LINE__))

static inline void fuzz_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}

/* A copy on the heap with a NUL after it, so that a read past its end is found.
 * Owner: the caller. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    FUZZ_CHECK(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    return text;
}

static inline char *fuzz_copy(const char *text)
{
    return fuzz_text((const uint8_t *)text, strlen(text));
}

/* A reason, or a message, is one line without control characters. */
static inline bool fuzz_is_plain(const char *text)
{
    while ((unsigned char)*text >= ' ' && *text != 0x7f) {
        text++;
    }
    return *text == '\0';
}

/* ---- Bytes as decisions ------------------------------------------------ */

struct fuzz_input {
    const uint8_t *at;
    size_t left;
};

/* 0 past the end. */
static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
    if (in->left == 0) {
        return 0;
    }
    in->left--;
    return *in->at++;
}

static inline uint64_t fuzz_u64(struct fuzz_input *in)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        value = value << 8 | fuzz_u8(in);
    }
    return value;
}

/* At most @p len of the remaining bytes; borrowed. */
static inline const uint8_t *fuzz_bytes(struct fuzz_input *in, size_t *len)
{
    const uint8_t *at = in->at;
    *len = *len < in->left ? *len : in->left;
    in->at += *len;
    in->left -= *len;
    return at;
}

#endif
