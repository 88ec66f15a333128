/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters after '?': those of all stores, and those of a module. */
#include "base/assert.h"
#include "base/duration.h"
#include "base/fail.h"
#include "base/nearest.h"
#include "base/secret.h"
#include "store/url.h"
#include "store/url_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest timeout of a connection or a reply: usual leases expire sooner.
 */
#define TIMEOUT_MS_MAX 60000

/* A year (366 days): a fence that nothing has used for so long is one of a
 * system that was rebuilt. */
#define FENCE_KEEP_MS_MAX INT64_C(31622400000)

/* In the order of `known`, which ends with NULL. */
enum parameter {
    P_PREFIX,
    P_CONNECT_TIMEOUT,
    P_NODE_TIMEOUT,
    P_TLS_CA,
    P_TLS_CERT,
    P_TLS_KEY,
    P_QUARANTINE,
    P_FENCE_KEEP,
    P_FENCE_BASE,
    P_MAX_TTL,
    N_PARAMETERS
};

static const char *const known[] = {
    "prefix",     "connect_timeout", "node_timeout", "tls_ca",
    "tls_cert",   "tls_key",         "quarantine",   "fence_keep",
    "fence_base", "max_ttl",         NULL,
};

static bool was_given(const struct hf_params *params, enum parameter which)
{
    return (params->given & 1U << which) != 0;
}

/* Bytes of the names of all parameters. */
#define LIST_MAX 256

static enum hf_status fail_unknown(const char *name, struct hf_error *error)
{
    char list[LIST_MAX] = "";
    size_t used = 0;
    for (unsigned i = 0; i < N_PARAMETERS; i++) {
        int n = snprintf(list + used, sizeof(list) - used, "%s%s",
                         i == 0 ? "" : ", ", known[i]);
        used += (size_t)n;
        HF_ASSERT(used < sizeof(list));
    }
    const char *near = hf_nearest(name, known);
    return hf_fail(error, HF_INVALID,
                   "unknown URL parameter \"%.40s\"%s%s%s (known: %s)", name,
                   near == NULL ? "" : ": did you mean \"",
                   near == NULL ? "" : near, near == NULL ? "" : "\"?", list);
}

static enum hf_status set_text(char **field, const char *value,
                               enum parameter which, bool again,
                               struct hf_error *error)
{
    if (again && strcmp(*field, value) != 0) {
        return hf_fail(error, HF_INVALID,
                       "URL parameter \"%s\" is given twice: \"%s\", \"%s\"",
                       known[which], *field, value);
    }
    char *copy = strdup(value);
    if (copy == NULL) {
        return hf_fail_memory(error);
    }
    free(*field);
    *field = copy;
    return HF_OK;
}

static enum hf_status set_duration(int64_t *field, int64_t least, int64_t most,
                                   const char *value, enum parameter which,
                                   bool again, struct hf_error *error)
{
    int64_t ms;
    if (!hf_duration_parse(value, &ms)) {
        return hf_fail(error, HF_INVALID,
                       "URL parameter \"%s\": \"%.40s\" is no duration (write "
                       "250ms, 10s, 5m, 1h30m; a plain number is seconds)",
                       known[which], value);
    }
    if (ms < least || ms > most) {
        char low[HF_DURATION_TEXT_MAX], high[HF_DURATION_TEXT_MAX];
        hf_duration_emit(low, least);
        hf_duration_emit(high, most);
        return hf_fail(error, HF_INVALID,
                       "URL parameter \"%s\": \"%.40s\" is not from %s to %s",
                       known[which], value, low, high);
    }
    if (again && *field != ms) {
        return hf_fail(error, HF_INVALID,
                       "URL parameter \"%s\" is given twice with different "
                       "values",
                       known[which]);
    }
    *field = ms;
    return HF_OK;
}

/** Digits only. @return false: anything else, or more than @p most. */
static bool read_number(const char *text, uint64_t most, uint64_t *out)
{
    *out = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c < '0' || *c > '9' || *out > most) {
            return false;
        }
        *out = *out * 10 + (uint64_t)(*c - '0');
    }
    return *text != '\0' && *out <= most;
}

static enum hf_status set_fence_base(struct hf_url *url, const char *value,
                                     bool again, struct hf_error *error)
{
    uint64_t base;
    if (!read_number(value, HF_FENCE_BASE_MAX, &base)) {
        return hf_fail(error, HF_INVALID,
                       "URL parameter \"fence_base\": \"%.40s\" is no number "
                       "from 0 to %" PRIu64,
                       value, HF_FENCE_BASE_MAX);
    }
    if (again && url->fence_base != base) {
        return hf_fail(error, HF_INVALID,
                       "URL parameter \"fence_base\" is given twice with "
                       "different values");
    }
    url->fence_base = base;
    return HF_OK;
}

static enum hf_status set_quarantine(struct hf_url *url, const char *value,
                                     bool again, struct hf_error *error)
{
    bool strict = strcmp(value, "strict") == 0;
    if (!strict && strcmp(value, "off") != 0) {
        return hf_fail(error, HF_INVALID,
                       "URL parameter \"quarantine\": \"%.40s\" is neither "
                       "\"strict\" nor \"off\"",
                       value);
    }
    if (again && url->quarantine != strict) {
        return hf_fail(error, HF_INVALID,
                       "URL parameter \"quarantine\" is given twice with "
                       "different values");
    }
    url->quarantine = strict;
    return HF_OK;
}

static enum hf_status set_prefix(struct hf_url *url, const char *value,
                                 bool again, struct hf_error *error)
{
    if (strncmp(value, "hf:", 3) == 0) {
        return hf_fail(error, HF_CONFIG,
                       "a prefix must not begin with \"hf:\": Holdfast keeps "
                       "its own records there");
    }
    if (strlen(value) > HF_URL_PREFIX_MAX) {
        return hf_fail(error, HF_CONFIG,
                       "the prefix has %zu bytes; at most %d are possible",
                       strlen(value), HF_URL_PREFIX_MAX);
    }
    return set_text(&url->prefix, value, P_PREFIX, again, error);
}

static enum hf_status set_parameter(const struct hf_params *params,
                                    enum parameter which, const char *value,
                                    struct hf_url *url, struct hf_error *error)
{
    bool again = was_given(params, which);
    switch (which) {
    case P_PREFIX:
        return set_prefix(url, value, again, error);
    case P_CONNECT_TIMEOUT:
        return set_duration(&url->connect_timeout_ms, 1, TIMEOUT_MS_MAX, value,
                            which, again, error);
    case P_NODE_TIMEOUT:
        url->has_node_timeout = true;
        return set_duration(&url->node_timeout_ms, 1, TIMEOUT_MS_MAX, value,
                            which, again, error);
    case P_TLS_CA:
        return set_text(&url->tls_ca, value, which, again, error);
    case P_TLS_CERT:
        return set_text(&url->tls_cert, value, which, again, error);
    case P_TLS_KEY:
        return set_text(&url->tls_key, value, which, again, error);
    case P_QUARANTINE:
        return set_quarantine(url, value, again, error);
    case P_FENCE_KEEP:
        return set_duration(&url->fence_keep_ms, HF_FENCE_KEEP_MS_MIN,
                            FENCE_KEEP_MS_MAX, value, which, again, error);
    case P_FENCE_BASE:
        return set_fence_base(url, value, again, error);
    case P_MAX_TTL:
        return set_duration(&url->max_ttl_ms, HF_TTL_MS_MIN, HF_MAX_TTL_MS_MAX,
                            value, which, again, error);
    case N_PARAMETERS:
        break;
    }
    HF_ASSERT(which < N_PARAMETERS);
    return HF_INTERNAL;
}

/* An unknown parameter of a module's URL is kept: only the module knows its
 * parameters. Takes ownership of both texts. */
static enum hf_status add_option(struct hf_url *url, char **name, char **value,
                                 struct hf_error *error)
{
    struct hf_url_option *options =
        realloc(url->options, (url->n_options + 1) * sizeof(*options));
    if (options == NULL) {
        return hf_fail_memory(error);
    }
    options[url->n_options++] = (struct hf_url_option){*name, *value};
    url->options = options;
    *name = NULL;
    *value = NULL;
    return HF_OK;
}

static enum hf_status read_one(struct hf_params *params, struct hf_piece item,
                               struct hf_url *url, struct hf_error *error)
{
    char *name = NULL, *value = NULL;
    bool has_value;
    struct hf_piece name_piece = hf_piece_cut(&item, '=', &has_value);
    enum hf_status status =
        hf_piece_decode(name_piece, "a URL parameter's name", &name, error);
    unsigned which = 0;
    if (status != HF_OK) {
        goto done;
    }
    while (which < N_PARAMETERS && strcmp(name, known[which]) != 0) {
        which++;
    }
    if (which == N_PARAMETERS && url->address == NULL) {
        status = fail_unknown(name, error);
        goto done;
    }
    if (!has_value) {
        status = hf_fail(error, HF_INVALID, "URL parameter \"%s\" has no value",
                         name);
        goto done;
    }
    status = hf_piece_decode(item, name, &value, error);
    if (status == HF_OK && which == N_PARAMETERS) {
        status = add_option(url, &name, &value, error);
    } else if (status == HF_OK) {
        status =
            set_parameter(params, (enum parameter)which, value, url, error);
        params->given |= 1U << which;
    }
done:
    free(name);
    hf_secret_free(value);
    return status;
}

enum hf_status hf_params_read(struct hf_params *params, struct hf_piece query,
                              struct hf_url *url, struct hf_error *error)
{
    bool has_more = query.len > 0;
    while (has_more) {
        struct hf_piece item = hf_piece_cut(&query, '&', &has_more);
        enum hf_status status = read_one(params, item, url, error);
        if (status != HF_OK) {
            return status;
        }
    }
    return HF_OK;
}

enum hf_status hf_url_refuse_options(const struct hf_url *url,
                                     struct hf_error *error)
{
    if (url->n_options > 0) {
        return fail_unknown(url->options[0].name, error);
    }
    return HF_OK;
}

enum hf_status hf_url_refuse_tls(const struct hf_url *url, const char *secure,
                                 struct hf_error *error)
{
    const char *given = url->tls_ca != NULL ? "tls_ca" : "tls_cert";
    if (url->tls_ca == NULL && url->tls_cert == NULL) {
        return HF_OK;
    }
    if (secure == NULL) {
        return hf_fail(error, HF_INVALID,
                       "%s is given, but a %s: store is not reached over TLS",
                       given, url->scheme);
    }
    return hf_fail(error, HF_CONFIG,
                   "%s is given, but no server of this URL is reached over "
                   "TLS: write %s://",
                   given, secure);
}

void hf_params_fini(struct hf_url *url)
{
    for (unsigned i = 0; i < url->n_options; i++) {
        free(url->options[i].name);
        hf_secret_free(url->options[i].value);
    }
    free(url->options);
}

/* Whether the address of a module leads to TLS is known to the module alone,
 * which refuses the options that it does not use (hf_url_refuse_tls()). */
static bool may_have_tls(const struct hf_url *url)
{
    if (url->address != NULL) {
        return true;
    }
    for (unsigned i = 0; i < url->n_endpoints; i++) {
        if (url->endpoints[i].is_tls) {
            return true;
        }
    }
    return false;
}

enum hf_status hf_params_complete(const struct hf_params *params,
                                  struct hf_url *url, struct hf_error *error)
{
    /* A counter must outlive each lease granted with it, and the leases of a
     * quarantine that follows: twice the longest lease. */
    int64_t least = 2 * url->max_ttl_ms;
    if (was_given(params, P_FENCE_KEEP) && url->fence_keep_ms < least) {
        char keep[HF_DURATION_TEXT_MAX], twice[HF_DURATION_TEXT_MAX];
        hf_duration_emit(keep, url->fence_keep_ms);
        hf_duration_emit(twice, least);
        return hf_fail(error, HF_CONFIG,
                       "fence_keep=%s is less than twice max_ttl (%s): a "
                       "counter must outlive the leases granted under it",
                       keep, twice);
    }
    if (url->fence_keep_ms < least) {
        url->fence_keep_ms = least; /* a default that follows a long max_ttl */
    }
    for (enum parameter which = P_TLS_CA; which <= P_TLS_KEY; which++) {
        if (was_given(params, which) && !may_have_tls(url)) {
            return hf_fail(error, HF_CONFIG,
                           "%s is given, but no server of this URL is reached "
                           "over TLS: write rediss:// or valkeys://",
                           known[which]);
        }
    }
    if ((url->tls_cert == NULL) != (url->tls_key == NULL)) {
        return hf_fail(error, HF_CONFIG,
                       "tls_cert and tls_key belong together: %s is missing",
                       url->tls_cert == NULL ? "tls_cert" : "tls_key");
    }
    return HF_OK;
}
