/* SPDX-License-Identifier: Apache-2.0 */
/* Store URLs: one or several endpoints of one store, and parameters that are
 * the same everywhere. Parsing says in one line what is wrong and what is
 * allowed; an unknown parameter is answered with the nearest known one.
 *
 *     redis://user:pass@a:6379,b,c/0?prefix=x:&node_timeout=20ms
 *     rediss://a redis+unix:///run/b.sock redis://c      several whole URLs
 *     local:///var/lib/holdfast
 *     SCHEME:ADDRESS?prefix=x:&its_own=1       of a module (store/registry.c)
 *
 * What ADDRESS means is the module's business, as are parameters that are not
 * the same everywhere. */
#ifndef HF_STORE_URL_H
#define HF_STORE_URL_H

#include "core/limits.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stdint.h>

struct hf_endpoint {
    bool is_unix;
    bool is_tls;
    char *host; /* or the socket's path; IPv6 without brackets */
    uint16_t port;
    int db;
    char *user;     /* NULL: none */
    char *password; /* NULL: none */
};

/* A parameter that only a module knows, decoded; the value may be secret. */
struct hf_url_option {
    char *name;
    char *value;
};

struct hf_url {
    char *scheme;   /* of the first; lower case: "redis", "local" … */
    char *address;  /* of a module: what stands between ':' and '?', as written;
                       may have a password in it. NULL: a store of this build */
    char *password; /* of a module: replaces what the address has, or NULL */
    struct hf_url_option *options; /* of a module: parameters of its own */
    unsigned n_options;
    char *path; /* local: the folder, or NULL */
    struct hf_endpoint endpoints[HF_NODES_MAX];
    unsigned n_endpoints; /* 0 for local, and of a module: one node */
    char *display;        /* the URL without passwords */

    char *prefix;                      /* "lock:" */
    char *tls_ca, *tls_cert, *tls_key; /* NULL: system's, none, none */
    int64_t connect_timeout_ms;
    int64_t node_timeout_ms;
    int64_t fence_keep_ms;
    int64_t max_ttl_ms;
    bool quarantine; /* quarantine=strict */
};

/* Parse. @param password  replaces the password of every endpoint, or NULL.
 * @return HF_OK; HF_INVALID, HF_UNSUPPORTED, HF_CONFIG, HF_NO_MEMORY with a
 *         text in @p error, and *out NULL. */
enum hf_status hf_url_parse(const char *text, const char *password,
                            struct hf_url **out, struct hf_error *error);

/* For a module whose store has no parameters of its own and no TLS: refuse
 * both. @return HF_OK; HF_INVALID with a text in @p error. */
enum hf_status hf_url_refuse_options(const struct hf_url *url,
                                     struct hf_error *error);

/* Passwords are wiped. NULL is fine. */
void hf_url_free(struct hf_url *url);

#endif
