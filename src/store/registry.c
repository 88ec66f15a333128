/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <string.h>

/* The stores that are built in; a build without one of them leaves its line
 * out. */
static const struct hf_store_ops *const stores[] = {
#ifndef HF_WITHOUT_LOCAL
    &hf_store_local,
#endif
#ifndef HF_WITHOUT_REDIS
    &hf_store_redis,
#endif
    NULL,
};

const struct hf_store_ops *hf_store_find(const char *scheme)
{
    for (unsigned i = 0; stores[i] != NULL; i++) {
        const char *const *name = stores[i]->schemes;
        for (; *name != NULL; name++) {
            if (strcmp(*name, scheme) == 0) {
                return stores[i];
            }
        }
    }
    return NULL;
}
