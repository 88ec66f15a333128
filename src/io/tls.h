/* SPDX-License-Identifier: Apache-2.0 */
/* TLS, in a module that is loaded only when a URL needs it: linking OpenSSL
 * would add half the run time of flock(1) to each start.
 *
 * The module exports one object, `hf_tls_module`. A program may link it;
 * otherwise it is loaded (io/module.h).
 *
 *     struct hf_tls *tls = hf_tls_new(&settings, reason, size);   blocks: files
 *     const struct hf_tls_ops *ops = hf_tls_ops(tls);
 *     void *one = hf_tls_open(tls, fd, host, reason, size);       blocks: files
 *     each time that the descriptor is ready:
 *         ops->turn(one, HF_SOCKET_TURN_BYTES);
 *         until it returns 1:  ops->handshake(one, reason, size);
 *         then, until 0:       ops->read(one, data, len, reason, size);
 *                              ops->write(one, data, len, reason, size);
 *         if (ops->is_cut(one)) … hf_loop_rearm() …
 *     ops->close(one, false); close(fd);
 *     hf_tls_free(tls);                            after its connections
 *
 * After a -1 only close() may be called for the connection. */
#ifndef HF_IO_TLS_H
#define HF_IO_TLS_H

#include "base/text_size.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Increase it with each change of the interface below. */
#define HF_TLS_ABI 6

struct hf_tls_settings {
    const char *ca;     /* file; NULL: the system's authorities */
    const char *cert;   /* file; NULL: none */
    const char *key;    /* file; NULL: in `cert` */
    const char *scheme; /* of URLs without TLS, for messages: a constant */
};

/* A `reason` is one line, written only if the operation fails; `size` counts
 * its NUL. On a non-blocking descriptor no operation blocks. A context and its
 * connections are used by one thread at a time. */

/** Set up a context for many connections; reads the files of @p settings.
 * @param settings  borrowed for the call, but for `scheme`.
 * @return the caller's; NULL with a reason. */
typedef void *hf_tls_context_new_fn(const struct hf_tls_settings *settings,
                                    char *reason, size_t size);

/** Free a context. @param context  its connections may be open: the last of
 * them frees it. */
typedef void hf_tls_context_free_fn(void *context);

/** Begin a connection as client; sends nothing yet.
 * @param fd    connected, non-blocking; stays the caller's.
 * @param host  the server's certificate must be valid for this name or
 *              address; borrowed for the call.
 * @return the caller's, to close(); NULL with a reason. */
typedef void *hf_tls_open_fn(void *context, int fd, const char *host,
                             char *reason, size_t size);

/** Continue the handshake, within the turn().
 * @param tls  from open(), and so below.
 * @return 1: done; 0: not now; -1: failed, with a reason. */
typedef int hf_tls_handshake_fn(void *tls, char *reason, size_t size);

/** Read decrypted bytes.
 * @param data  room for @p len bytes, at least 1.
 * @return their number; 0: none now; -1: failed, or the server closed the
 *         connection, with a reason. */
typedef ssize_t hf_tls_read_fn(void *tls, void *data, size_t len, char *reason,
                               size_t size);

/** Begin a turn, so that one peer cannot occupy the thread. The first comes
 * before the first handshake().
 * @param bytes  at most so many are read from the descriptor in this turn;
 *               after them handshake() and read() return 0. */
typedef void hf_tls_turn_fn(void *tls, size_t bytes);

/** @return true: the turn has reached its limit. The descriptor may have unread
 * bytes, for which epoll reports no further edge. */
typedef bool hf_tls_is_cut_fn(const void *tls);

/** Encrypt and write.
 * @param data  borrowed for the call: a retry may pass another address, with
 *              the same bytes first.
 * @return number of bytes taken; 0: none now; -1: failed, with a reason. */
typedef ssize_t hf_tls_write_fn(void *tls, const void *data, size_t len,
                                char *reason, size_t size);

/** Free the connection; its descriptor stays open.
 * @param quiet  true: send nothing to the peer, as in a forked child. */
typedef void hf_tls_close_fn(void *tls, bool quiet);

/** Empty this thread's queue of errors, for libraries that take what is in it
 * for their own. */
typedef void hf_tls_clear_fn(void);

/** The system's authorities, for libraries that must be given some.
 * @param file    NULL: it cannot be read.
 * @param folder  may be missing. Both are borrowed: of the environment, or
 *                constants. */
typedef void hf_tls_authorities_fn(const char **file, const char **folder);

/* The table of the module. All members must be set: one that is not refuses
 * the module. */
struct hf_tls_ops {
    unsigned abi; /* HF_TLS_ABI; read first, and stays the first member */
    hf_tls_context_new_fn *context_new;
    hf_tls_context_free_fn *context_free;
    hf_tls_open_fn *open;
    hf_tls_handshake_fn *handshake;
    hf_tls_read_fn *read;
    hf_tls_turn_fn *turn;
    hf_tls_is_cut_fn *is_cut;
    hf_tls_write_fn *write;
    hf_tls_close_fn *close;
    hf_tls_clear_fn *clear;
    hf_tls_authorities_fn *authorities;
};

struct hf_tls;

/** Load the module and set up a context.
 * @param settings  borrowed for the call, but for `scheme`.
 * @return NULL with a reason. */
struct hf_tls *hf_tls_new(const struct hf_tls_settings *settings, char *reason,
                          size_t size);

/* May users outside of its group read or write the file? A key that all users
 * may read does not authenticate the client. NULL, or missing: no. */
bool hf_tls_is_exposed(const char *key);

/* Is there a module, and of this version? */
bool hf_tls_find(void);

/* NULL is fine. All its connections must be closed. */
void hf_tls_free(struct hf_tls *tls);

/* The functions of the module, for connections of hf_tls_open(). */
const struct hf_tls_ops *hf_tls_ops(const struct hf_tls *tls);

/** Begin a connection, as the module's open(). Files that have been replaced
 * since they were read are read again. If they cannot be used, as between the
 * replacement of a certificate and that of its key, those that were read are
 * used, and the next connection tries again. */
void *hf_tls_open(struct hf_tls *tls, int fd, const char *host, char *reason,
                  size_t size);

#endif
