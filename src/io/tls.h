/* SPDX-License-Identifier: Apache-2.0 */
/* TLS, from a module that is loaded only when a URL asks for it: to link
 * OpenSSL alone costs every start half of flock(1)'s whole run.
 *
 * The module exports one object, `hf_tls_module`. A program may have it linked
 * in. Else it is loaded (io/module.h). */
#ifndef HF_IO_TLS_H
#define HF_IO_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Changes with every change of the interface below. */
#define HF_TLS_ABI 2

struct hf_tls_settings {
    const char *ca;   /* file; NULL: the system's authorities */
    const char *cert; /* file; NULL: none */
    const char *key;  /* file; NULL: in `cert` */
};

/* A connection's reads and writes: bytes moved; 0: not now; -1: over, and
 * `reason` says why. */
struct hf_tls_ops {
    unsigned abi;
    /* A context for many connections. @return NULL with a reason. */
    void *(*context_new)(const struct hf_tls_settings *settings, char *reason,
                         size_t size);
    void (*context_free)(void *context);
    /* `host` must be what the server's certificate says; borrowed. */
    void *(*open)(void *context, int fd, const char *host, char *reason,
                  size_t size);
    /* 1: done, 0: not now, -1: failed. */
    int (*handshake)(void *tls, char *reason, size_t size);
    ssize_t (*read)(void *tls, void *data, size_t len, char *reason,
                    size_t size);
    /* From now on take at most `bytes` from the descriptor: handshake and read
     * then say "not now". is_cut: they did, and more may be there, of which
     * no edge of the descriptor will tell. */
    void (*turn)(void *tls, size_t bytes);
    bool (*is_cut)(const void *tls);
    ssize_t (*write)(void *tls, const void *data, size_t len, char *reason,
                     size_t size);
    /* `quiet`: say nothing to the other side. Leaves the descriptor open. */
    void (*close)(void *tls, bool quiet);
};

struct hf_tls;

/* Load the module and set up a context. @return NULL with a reason. */
struct hf_tls *hf_tls_new(const struct hf_tls_settings *settings, char *reason,
                          size_t size);

/* NULL is fine. All its connections must be closed. */
/* Is there a module, and of this version? */
bool hf_tls_is_there(void);

void hf_tls_free(struct hf_tls *tls);

const struct hf_tls_ops *hf_tls_ops(const struct hf_tls *tls);
void *hf_tls_context(const struct hf_tls *tls);

#endif
