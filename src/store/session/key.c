/* SPDX-License-Identifier: Apache-2.0 */
#include "store/session/key.h"

#include "base/fail.h"

#include <sha2.h>
#include <string.h>

bool hf_session_is_parameter(const char *name)
{
    return strcmp(name, "lock") == 0 || strcmp(name, "key") == 0;
}

enum hf_status
hf_session_read(const struct hf_url *url, const struct hf_session_words *words,
                bool *is_asked, const char **key, struct hf_error *error)
{
    *is_asked = false;
    *key = NULL;
    for (unsigned i = 0; i < url->n_options; i++) {
        const struct hf_url_option *one = &url->options[i];
        if (strcmp(one->name, "key") == 0) {
            *key = one->value;
        } else if (strcmp(one->name, "lock") == 0 &&
                   strcmp(one->value, words->lock) == 0) {
            *is_asked = true;
        } else if (strcmp(one->name, "lock") == 0) {
            return hf_fail(error, HF_INVALID,
                           "URL parameter \"lock\": \"%.40s\" is not "
                           "\"%s\"; without it, locks are rows of the %s",
                           one->value, words->lock, words->rows);
        }
    }
    if (*key != NULL && !*is_asked) {
        return hf_fail(error, HF_INVALID,
                       "URL parameter \"key\": it is the %s: add lock=%s",
                       words->key, words->lock);
    }
    return HF_OK;
}

void hf_session_digest(const char *prefix, const void *name, size_t name_len,
                       uint8_t out[HF_SESSION_DIGEST_LEN])
{
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)prefix, strlen(prefix));
    SHA256Update(&context, name, name_len);
    SHA256Final(out, &context);
}
