/* SPDX-License-Identifier: Apache-2.0 */
/* The TLS settings of a URL, for each store that is reached over TLS. */
#include "base/fail.h"
#include "io/secret_file.h"
#include "io/tls.h"
#include "store/url.h"

enum hf_status hf_url_load_tls(const struct hf_url *url, const char *plain,
                               struct hf_tls **out, struct hf_error *error)
{
    *out = NULL;
    /* Its group is the administrator's choice. hf_tls_new() refuses a missing
     * file. */
    if (hf_tls_is_exposed(url->tls_key)) {
        return hf_fail(error, HF_CONFIG, "tls_key %s: " HF_SECRET_FILE_EXPOSED,
                       url->tls_key);
    }
    struct hf_tls_settings settings = {.ca = url->tls_ca,
                                       .cert = url->tls_cert,
                                       .key = url->tls_key,
                                       .scheme = plain};
    char why[sizeof(((struct hf_error *)0)->text)];
    *out = hf_tls_new(&settings, why, sizeof(why));
    return *out == NULL ? hf_fail(error, HF_CONFIG, "%s", why) : HF_OK;
}
