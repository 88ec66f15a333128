/* SPDX-License-Identifier: Apache-2.0 */
/* consul://[:TOKEN@]HOST[:PORT],HOST,…[/]
 * Parameters: datacenter, token_file, session_ttl_min. */
#include "base/duration.h"
#include "base/fail.h"
#include "base/nearest.h"
#include "base/secret.h"
#include "store/consul/consul.h"
#include "store/url_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of agents of Consul, without and with TLS. */
#define PORT_DEFAULT 8500
#define PORT_TLS 8501

static const char usage[] =
    HF_WIRE_USAGE("a Consul URL", "consul://HOST:PORT,HOST:PORT,...",
                  "agents of one datacenter");

static bool is_secure(const struct hf_url *url)
{
    return strcmp(url->scheme, HF_CONSUL_SCHEME "s") == 0;
}

/* ":TOKEN": a token has no user. */
static enum hf_status read_token(struct hf_piece login, char **out,
                                 struct hf_error *error)
{
    bool has_token;
    struct hf_piece user = hf_piece_cut(&login, ':', &has_token);
    if (user.len > 0 || !has_token) {
        return hf_fail(error, HF_INVALID,
                       "Consul has tokens, and no users: write \":TOKEN@\" "
                       "before the host, or set CONSUL_HTTP_TOKEN");
    }
    return hf_piece_decode(login, "the token", out, error);
}

static enum hf_status read_address(struct hf_consul *consul,
                                   const struct hf_url *url, char **token,
                                   struct hf_error *error)
{
    struct hf_wire_address address;
    if (!hf_wire_address_cut(url->address, &address) || address.path.len > 0) {
        return hf_fail(error, HF_INVALID, "%s", usage);
    }
    enum hf_status status =
        address.has_login ? read_token(address.login, token, error) : HF_OK;
    return status != HF_OK
               ? status
               : hf_wire_hosts_read(
                     consul->node.list, &consul->node.n, address.hosts,
                     is_secure(url) ? PORT_TLS : PORT_DEFAULT, usage, error);
}

/* ---- Parameters ---------------------------------------------------------- */

static enum hf_status read_datacenter(struct hf_consul *consul,
                                      const char *name, struct hf_error *error)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    if (name[0] == '\0' || name[strspn(name, allowed)] != '\0') {
        return hf_fail(error, HF_INVALID,
                       "URL parameter \"datacenter\": \"%.40s\" is no name of "
                       "a datacenter (letters, digits, - and _)",
                       name);
    }
    free(consul->datacenter);
    consul->datacenter = strdup(name);
    return consul->datacenter == NULL ? hf_fail_memory(error) : HF_OK;
}

/* Consul's own setting of that name: an agent that has a lower one accepts
 * shorter sessions. */
static enum hf_status read_ttl_min(struct hf_consul *consul, const char *value,
                                   struct hf_error *error)
{
    int64_t ms;
    if (!hf_duration_parse(value, &ms) || ms < 1000 ||
        ms > HF_CONSUL_TTL_S_MIN * 1000 || ms % 1000 != 0) {
        return hf_fail(error, HF_INVALID,
                       "URL parameter \"session_ttl_min\": \"%.40s\" is not "
                       "from 1s to %ds, in whole seconds",
                       value, HF_CONSUL_TTL_S_MIN);
    }
    consul->ttl_min_s = ms / 1000;
    return HF_OK;
}

static enum hf_status refuse_unknown(const char *name, struct hf_error *error)
{
    static const char *const known[] = {"datacenter",
                                        "token_file",
                                        "prefix",
                                        "node_timeout",
                                        "connect_timeout",
                                        "tls_ca",
                                        "tls_cert",
                                        "tls_key",
                                        "quarantine",
                                        "fence_keep",
                                        "fence_base",
                                        "max_ttl",
                                        NULL};
    const char *near = hf_nearest(name, known);
    return hf_fail(
        error, HF_INVALID,
        "unknown URL parameter \"%.40s\"%s%s%s (known: datacenter, "
        "token_file, session_ttl_min, and those of all stores: prefix, "
        "connect_timeout, node_timeout, tls_ca, tls_cert, tls_key, "
        "quarantine, fence_keep, fence_base, max_ttl)",
        name, near == NULL ? "" : ": did you mean \"", near == NULL ? "" : near,
        near == NULL ? "" : "\"?");
}

static enum hf_status read_options(struct hf_consul *consul,
                                   const struct hf_url *url, const char **file,
                                   struct hf_error *error)
{
    enum hf_status status = HF_OK;
    *file = NULL;
    consul->ttl_min_s = HF_CONSUL_TTL_S_MIN;
    for (unsigned i = 0; status == HF_OK && i < url->n_options; i++) {
        const struct hf_url_option *option = &url->options[i];
        if (strcmp(option->name, "datacenter") == 0) {
            status = read_datacenter(consul, option->value, error);
        } else if (strcmp(option->name, "token_file") == 0) {
            *file = option->value;
        } else if (strcmp(option->name, "session_ttl_min") == 0) {
            status = read_ttl_min(consul, option->value, error);
        } else {
            return refuse_unknown(option->name, error);
        }
    }
    return status;
}

/* A path with these would be redirected to another one. */
static enum hf_status check_prefix(const struct hf_url *url,
                                   struct hf_error *error)
{
    const char *prefix = url->prefix;
    bool is_odd = prefix[0] == '/' || prefix[0] == '.' ||
                  strstr(prefix, "//") != NULL || strstr(prefix, "/.") != NULL;
    return is_odd ? hf_fail(error, HF_CONFIG,
                            "prefix %.60s: for Consul, it must not begin with "
                            "/ or ., nor contain // or /.",
                            prefix)
                  : HF_OK;
}

enum hf_status hf_consul_target_read(struct hf_consul *consul,
                                     const struct hf_url *url,
                                     struct hf_error *error)
{
    char *token = NULL;
    const char *file;
    enum hf_status status = read_options(consul, url, &file, error);
    if (status == HF_OK) {
        status = check_prefix(url, error);
    }
    if (status == HF_OK) {
        status = read_address(consul, url, &token, error);
    }
    if (status == HF_OK) {
        status = hf_consul_token_find(consul, url, token, file, error);
    }
    hf_secret_free(token);
    return status;
}

void hf_consul_target_fini(struct hf_consul *consul)
{
    free(consul->datacenter);
    hf_secret_free(consul->token);
    hf_secret_free(consul->headers);
}
