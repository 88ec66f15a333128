/* SPDX-License-Identifier: Apache-2.0 */
/* Store URLs: one or several endpoints of one store, and parameters that all
 * stores share. The error of a parse is one line with what is allowed; for an
 * unknown parameter it suggests the nearest known one.
 *
 *     redis://user:pass@a:6379,b,c/0?prefix=x:&node_timeout=20ms
 *     rediss://a redis+unix:///run/b.sock redis://c      several whole URLs
 *     local:///var/lib/holdfast
 *     SCHEME:ADDRESS?prefix=x:&its_own=1       of a module (store/registry.c)
 *
 * The module parses ADDRESS, and the parameters that are its own. */
#ifndef HF_STORE_URL_H
#define HF_STORE_URL_H

#include "core/limits.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stdint.h>

/* Longest `prefix`, in bytes: names of services and teams are shorter, and keys
 * of Redis, which contain it twice, stay small. */
#define HF_URL_PREFIX_MAX 256

struct hf_endpoint {
    bool is_unix;
    bool is_tls;
    char *host; /* or the socket's path; IPv6 without brackets */
    uint16_t port;
    int db;
    char *user;     /* NULL: none */
    char *password; /* NULL: none */
};

/* A parameter of a module, decoded; the value may be secret. */
struct hf_url_option {
    char *name;
    char *value;
};

struct hf_url {
    char *scheme;   /* of the first URL; lower case: "redis", "local" … */
    char *address;  /* module: the text between ':' and '?', not decoded; may
                       contain a password. NULL: a store of this build */
    char *password; /* module: replaces that of the address, or NULL */
    struct hf_url_option *options; /* module: its own parameters */
    unsigned n_options;
    char *path; /* local: the folder, or NULL */
    struct hf_endpoint endpoints[HF_NODES_MAX];
    unsigned n_endpoints; /* 0 for local and a module, which have one node */
    char *display;        /* the URL without passwords */

    char *prefix;                      /* "lock:" */
    char *tls_ca, *tls_cert, *tls_key; /* NULL: the system's CAs, none, none */
    int64_t connect_timeout_ms;
    int64_t node_timeout_ms;
    bool has_node_timeout; /* given; else a module may have another default */
    int64_t fence_keep_ms;
    uint64_t fence_base; /* at most HF_FENCE_BASE_MAX; client/fence.h */
    int64_t max_ttl_ms;
    bool quarantine; /* quarantine=strict */
};

/** Parse. @param password  replaces the password of every endpoint, or NULL.
 * @return HF_OK; HF_INVALID, HF_UNSUPPORTED, HF_CONFIG, HF_NO_MEMORY with a
 *         text in @p error, and *out NULL. */
enum hf_status hf_url_parse(const char *text, const char *password,
                            struct hf_url **out, struct hf_error *error);

/** For a module whose store has no parameters of its own: refuse them.
 * @return HF_OK; HF_INVALID with a text in @p error. */
enum hf_status hf_url_refuse_options(const struct hf_url *url,
                                     struct hf_error *error);

/** For a module, when its URL is not reached over TLS: refuse tls_ca and the
 * others.
 * @param secure  the scheme of those that are, for the text; NULL: none is.
 * @return HF_OK; HF_CONFIG or HF_INVALID with a text in @p error. */
enum hf_status hf_url_refuse_tls(const struct hf_url *url, const char *secure,
                                 struct hf_error *error);

struct hf_tls;

/** Load TLS as the URL says: url_tls.c. Reads files.
 * @param plain  the scheme of URLs without TLS, for messages: a constant.
 * @return HF_OK; HF_CONFIG with a text in @p error: the module or a file cannot
 *         be loaded, or all users may read or write the key. */
enum hf_status hf_url_load_tls(const struct hf_url *url, const char *plain,
                               struct hf_tls **out, struct hf_error *error);

/* Free; wipes passwords. NULL is fine. */
void hf_url_free(struct hf_url *url);

#endif
