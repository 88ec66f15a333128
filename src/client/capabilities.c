/* SPDX-License-Identifier: Apache-2.0 */
/* The capabilities of a URL's store, without a client. */
#include "client/mutex.h"

#include "base/fail.h"
#include "store/store.h"
#include "store/url.h"

enum hf_status hf_store_capabilities(const char *url, unsigned *out,
                                     struct hf_error *error)
{
    struct hf_url *parsed;
    const struct hf_store_ops *ops;
    if (out == NULL) {
        return hf_fail(error, HF_INVALID, "no place for the capabilities");
    }
    *out = 0;
    enum hf_status status =
        hf_url_parse(url != NULL ? url : "local:", NULL, &parsed, error);
    if (status != HF_OK) {
        return status;
    }
    int before = hf_cancel_state_hold();
    status = hf_store_find(parsed, &ops, error);
    hf_cancel_state_restore(before);
    if (status == HF_OK) {
        *out = ops->capabilities;
        if (parsed->n_endpoints > 1) { /* src/client/value.c */
            *out &= ~(unsigned)HF_CAP_VALUES;
        }
    }
    hf_url_free(parsed);
    return status;
}
