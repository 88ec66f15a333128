/* SPDX-License-Identifier: Apache-2.0 */
/* Store URLs: an accepted URL is within its bounds; a refused one gives one
 * line; a password is never shown.
 *
 * Input: a password from another source up to the first NUL, if there is one,
 * then the URL. */
#include "fuzz.h"

#include "store/url.h"

#define SECRET "s3same"

static void check_endpoint(const struct hf_endpoint *to)
{
    FUZZ_CHECK(to->host != NULL && to->host[0] != '\0');
    FUZZ_CHECK(to->is_unix || to->port > 0);
    FUZZ_CHECK(to->db >= 0);
}

static void check_url(const struct hf_url *url)
{
    FUZZ_CHECK(url->scheme != NULL && url->scheme[0] != '\0');
    FUZZ_CHECK(url->n_endpoints <= HF_NODES_MAX);
    FUZZ_CHECK(url->n_endpoints == 0 || url->n_endpoints % 2 == 1);
    for (unsigned i = 0; i < url->n_endpoints; i++) {
        check_endpoint(&url->endpoints[i]);
    }
    FUZZ_CHECK(url->display != NULL);
    FUZZ_CHECK(fuzz_is_plain(url->display));
    FUZZ_CHECK(url->prefix != NULL);
    FUZZ_CHECK(url->connect_timeout_ms > 0);
    FUZZ_CHECK(url->node_timeout_ms > 0);
    FUZZ_CHECK(url->fence_keep_ms > 0);
    FUZZ_CHECK(url->max_ttl_ms >= HF_TTL_MS_MIN &&
               url->max_ttl_ms <= HF_MAX_TTL_MS_MAX);
}

static enum hf_status parse(const char *text, const char *password)
{
    struct hf_url *url = NULL;
    struct hf_error error = {HF_OK, 0, ""};
    enum hf_status status = hf_url_parse(text, password, &url, &error);
    FUZZ_CHECK((status == HF_OK) == (url != NULL));
    if (status == HF_OK) {
        check_url(url);
    } else {
        FUZZ_CHECK(error.status == status && error.text[0] != '\0');
        FUZZ_CHECK(strlen(error.text) < sizeof(error.text));
        FUZZ_CHECK(fuzz_is_plain(error.text));
    }
    hf_url_free(url);
    return status;
}

/* With a password that occurs only once, in the user part of the URL. */
static void check_secret(const char *rest)
{
    char text[2048];
    struct hf_url *url = NULL;
    struct hf_error error = {HF_OK, 0, ""};
    snprintf(text, sizeof(text), "redis://u:" SECRET "@%s", rest);
    if (strstr(rest, SECRET) != NULL) {
        return;
    }
    if (hf_url_parse(text, NULL, &url, &error) == HF_OK) {
        FUZZ_CHECK(strstr(url->display, SECRET) == NULL);
    } else {
        FUZZ_CHECK(strstr(error.text, SECRET) == NULL);
    }
    hf_url_free(url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    size_t len = strlen(text);
    if (len < size) {
        parse(text + len + 1, text);
    } else {
        parse(text, NULL);
        check_secret(text);
    }
    free(text);
    return 0;
}
