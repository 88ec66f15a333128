/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fail.h"
#include "store/store.h"

#include <string.h>

/* The stores of this build: CMake's HF_WITHOUT_<STORE> leaves one out. */
static const struct hf_store_ops *const stores[] = {
#ifndef HF_WITHOUT_LOCAL
    &hf_store_local,
#endif
#ifndef HF_WITHOUT_REDIS
    &hf_store_redis,
#endif
    NULL,
};

static const char *missing(const struct hf_store_ops *ops)
{
    const struct {
        const char *name;
        bool is_there;
    } members[] = {
        {"retry_base", ops->retry_base.ns > 0},
        {"retry_cap", ops->retry_cap.ns >= ops->retry_base.ns},
        {"open", ops->open != NULL},
        {"close", ops->close != NULL},
        {"ask", ops->ask != NULL},
        {"describe", ops->describe != NULL},
        {"job", ops->job != NULL},
        {"job_cancel", ops->job_cancel != NULL},
    };
    for (unsigned i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (!members[i].is_there) {
            return members[i].name;
        }
    }
    return NULL;
}

static bool has_scheme(const struct hf_store_ops *ops, const char *scheme)
{
    for (unsigned i = 0; ops->schemes[i] != NULL; i++) {
        if (strcmp(ops->schemes[i], scheme) == 0) {
            return true;
        }
    }
    return false;
}

enum hf_status
hf_store_find_in(const struct hf_store_ops *const *table, const char *scheme,
                 const struct hf_store_ops **out, struct hf_error *error)
{
    for (; *table != NULL; table++) {
        const struct hf_store_ops *ops = *table;
        if (!has_scheme(ops, scheme)) {
            continue;
        }
        const char *member = missing(ops);
        if (member != NULL) {
            return hf_fail(error, HF_UNSUPPORTED,
                           "the %s store of this build is incomplete: it "
                           "lacks \"%s\"",
                           ops->name, member);
        }
        *out = ops;
        return HF_OK;
    }
    return hf_fail(error, HF_UNSUPPORTED,
                   "this build has no store for %s:", scheme);
}

enum hf_status hf_store_find(const char *scheme,
                             const struct hf_store_ops **out,
                             struct hf_error *error)
{
    return hf_store_find_in(stores, scheme, out, error);
}
