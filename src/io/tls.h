/* SPDX-License-Identifier: Apache-2.0 */
/* TLS, in a module that is loaded only when a URL needs it: linking OpenSSL
 * would add half the run time of flock(1) to each start.
 *
 * The module exports one object, `hf_tls_module`. A program may link it;
 * otherwise it is loaded (io/module.h). */
#ifndef HF_IO_TLS_H
#define HF_IO_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Increase it with each change of the interface below. */
#define HF_TLS_ABI 5

struct hf_tls_settings {
    const char *ca;     /* file; NULL: the system's authorities */
    const char *cert;   /* file; NULL: none */
    const char *key;    /* file; NULL: in `cert` */
    const char *scheme; /* of URLs without TLS, for messages: a constant */
};

/* read() and write() return the number of bytes; 0: none now; -1: failed, and
 * `reason` is set. */
struct hf_tls_ops {
    unsigned abi;
    /** A context for many connections. @return NULL with a reason. */
    void *(*context_new)(const struct hf_tls_settings *settings, char *reason,
                         size_t size);
    void (*context_free)(void *context);
    /* The server's certificate must be valid for `host`; borrowed. */
    void *(*open)(void *context, int fd, const char *host, char *reason,
                  size_t size);
    /* 1: done, 0: not now, -1: failed. */
    int (*handshake)(void *tls, char *reason, size_t size);
    ssize_t (*read)(void *tls, void *data, size_t len, char *reason,
                    size_t size);
    /* From now on read at most `bytes` from the descriptor: then handshake and
     * read return 0. is_cut: they did so, and the descriptor may have unread
     * bytes, for which epoll reports no further edge. */
    void (*turn)(void *tls, size_t bytes);
    bool (*is_cut)(const void *tls);
    ssize_t (*write)(void *tls, const void *data, size_t len, char *reason,
                     size_t size);
    /* `quiet`: send nothing to the peer. Leaves the descriptor open. */
    void (*close)(void *tls, bool quiet);
    /* Empty this thread's queue of errors, for libraries that take what is in
     * it for their own. */
    void (*clear)(void);
    /* The system's authorities, for libraries that must be given some: a file,
     * NULL if it cannot be read, and a folder, which may be missing. */
    void (*authorities)(const char **file, const char **folder);
};

struct hf_tls;

/** Load the module and set up a context. @return NULL with a reason. */
struct hf_tls *hf_tls_new(const struct hf_tls_settings *settings, char *reason,
                          size_t size);

/* Is there a module, and of this version? */
bool hf_tls_is_there(void);

/* NULL is fine. All its connections must be closed. */
void hf_tls_free(struct hf_tls *tls);

const struct hf_tls_ops *hf_tls_ops(const struct hf_tls *tls);
void *hf_tls_context(const struct hf_tls *tls);

#endif
