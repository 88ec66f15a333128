/* SPDX-License-Identifier: Apache-2.0 */
/* Owner records, as any node may store them: their description is one printable
 * line, and a record that we write is parsed as the same. */
#include "fuzz.h"

#include "core/owner.h"

static void check_text(const char *text, size_t size)
{
    FUZZ_CHECK(memchr(text, '\0', size) != NULL);
    FUZZ_CHECK(fuzz_is_plain(text));
}

static void check_describe(const char *text, size_t len)
{
    struct hf_holder holder = {.kind = HF_HOLDER_NONE};
    bool is_ours = hf_owner_is_ours(text, len);
    hf_owner_describe(text, len, &holder);
    FUZZ_CHECK(holder.kind == HF_HOLDER_HOLDFAST ||
               holder.kind == HF_HOLDER_ENDED ||
               holder.kind == HF_HOLDER_FOREIGN);
    FUZZ_CHECK(holder.kind == HF_HOLDER_FOREIGN || is_ours);
    FUZZ_CHECK(holder.pid >= 0 && holder.since_s >= 0);
    check_text(holder.owner, sizeof(holder.owner));
    check_text(holder.host, sizeof(holder.host));
    check_text(holder.label, sizeof(holder.label));
    FUZZ_CHECK(hf_owner_digest(text, len) != 0);
}

static void check_parse(const char *text)
{
    size_t owner_len = 0;
    uint64_t fence = 0;
    if (hf_owner_parse(text, &owner_len, &fence)) {
        FUZZ_CHECK(owner_len > 0 && owner_len <= HF_OWNER_MAX);
        FUZZ_CHECK(text[owner_len] == '@');
        FUZZ_CHECK(fence > 0 && fence <= HF_FENCE_MAX);
        FUZZ_CHECK(hf_owner_is_ours(text, owner_len));
    }
}

/* Host and label first as they are in the input, then as a client escapes
 * them. */
static void check_emit(struct fuzz_input in)
{
    uint8_t id[HF_OWNER_ID_LEN];
    char out[HF_OWNER_MAX];
    for (size_t i = 0; i < sizeof(id); i++) {
        id[i] = fuzz_u8(&in);
    }
    int64_t pid = (int64_t)(fuzz_u64(&in) >> 1);
    int64_t since_s = (int64_t)(fuzz_u64(&in) >> 1);
    size_t host_len = fuzz_u8(&in);
    const uint8_t *host_at = fuzz_bytes(&in, &host_len);
    char *host = fuzz_text(host_at, host_len);
    char *label = fuzz_text(in.at, in.left);
    size_t len = hf_owner_emit(out, id, host, pid, since_s, label);
    FUZZ_CHECK(len <= HF_OWNER_MAX && hf_owner_is_ours(out, len));
    FUZZ_CHECK(memchr(out, '@', len) == NULL);
    struct hf_holder holder;
    hf_owner_describe(out, len, &holder);
    bool is_readable = pid < INT64_C(1000000000000000000) &&
                       since_s < INT64_C(1000000000000000000);
    FUZZ_CHECK(holder.kind ==
               (is_readable ? HF_HOLDER_HOLDFAST : HF_HOLDER_FOREIGN));
    if (is_readable) {
        FUZZ_CHECK(holder.pid == pid && holder.since_s == since_s);
        FUZZ_CHECK(strlen(host) > 20 || strchr(host, '%') != NULL ||
                   strpbrk(host, "\x7f") != NULL ||
                   strlen(holder.host) >= strlen(host));
    }
    free(host);
    free(label);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    check_describe(text, size);
    check_parse(text);
    check_emit((struct fuzz_input){data, size});
    free(text);
    return 0;
}
