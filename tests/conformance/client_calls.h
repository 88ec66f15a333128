/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that fail on purpose. The program is linked with --wrap for each of
 * them; this file, which one program includes, has the wrappers.
 *
 *     calls_forget();
 *     do {
 *         calls_arm(ENOSPC);    the next one at a place that has not failed
 *         ... session ...       often enough yet fails, once
 *         calls_disarm();
 *     } while (calls_has_failed());
 *
 * A place is an instruction that makes a call. Only its first few calls fail:
 * later ones would differ only in their number. */
#ifndef CLIENT_CALLS_H
#define CLIENT_CALLS_H

#include "client_drawn.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <pthread.h>

/* Places that are told apart, several times those that a test prints; all
 * further ones are the last one. */
#define PLACES_MAX 2048
#define TURNS_MAX 3 /* failures of a place, at its first calls in a session */

static struct {
    pthread_mutex_t mutex;
    bool is_armed;
    bool has_failed;
    int number;
    unsigned every, first; /* of the places (client_drawn.h) */
    unsigned n_places;
    struct {
        const void *from;
        unsigned char turns; /* times that it has failed */
        unsigned char now;   /* times that it was called in this session */
    } places[PLACES_MAX];
    const char *failed_name;
    const void *failed_from;
} calls = {.mutex = PTHREAD_MUTEX_INITIALIZER, .failed_name = "nothing"};

static inline void calls_forget(void)
{
    calls.every = drawn_every();
    calls.first = drawn_first();
    calls.n_places = 0;
    memset(calls.places, 0, sizeof(calls.places));
}

static inline void calls_arm(int number)
{
    for (unsigned i = 0; i < calls.n_places; i++) {
        calls.places[i].now = 0;
    }
    calls.number = number;
    calls.has_failed = false;
    calls.is_armed = true;
}

static inline void calls_disarm(void)
{
    calls.is_armed = false;
}

static inline bool calls_has_failed(void)
{
    return calls.has_failed;
}

static inline unsigned calls_places(void)
{
    return calls.n_places;
}

static inline const char *calls_failed_name(void)
{
    static char text[100];
    Dl_info about;
    uintptr_t from = (uintptr_t)calls.failed_from;
    if (dladdr(calls.failed_from, &about) != 0) {
        from -= (uintptr_t)about.dli_fbase; /* for addr2line */
    }
    snprintf(text, sizeof(text), "%s() from %#lx", calls.failed_name,
             (unsigned long)from);
    return text;
}

static unsigned place_of(const void *from)
{
    unsigned i = 0;
    while (i < calls.n_places && calls.places[i].from != from) {
        i++;
    }
    if (i == calls.n_places && i + 1 < PLACES_MAX) {
        calls.places[i].from = from;
        calls.places[i].turns = 0;
        calls.places[i].now = 0;
        calls.n_places++;
    }
    return i;
}

/* Whether this is the call that must fail. */
static bool fails(const char *name, const void *from)
{
    if (!calls.is_armed) {
        return false;
    }
    pthread_mutex_lock(&calls.mutex);
    unsigned i = place_of(from);
    bool is_it = i % calls.every == calls.first && !calls.has_failed &&
                 calls.places[i].turns < TURNS_MAX &&
                 calls.places[i].now++ == calls.places[i].turns;
    if (is_it) {
        calls.places[i].turns++;
        calls.has_failed = true;
        calls.failed_name = name;
        calls.failed_from = from;
        errno = calls.number;
    }
    pthread_mutex_unlock(&calls.mutex);
    return is_it;
}

#define FAILS(name) fails(#name, __builtin_return_address(0))

/* A wrapped function of up to four arguments. */
#define WRAP(type, name, failure, params, args)                                \
    type __real_##name params;                                                 \
    type __wrap_##name params;                                                 \
    type __wrap_##name params                                                  \
    {                                                                          \
        return FAILS(name) ? (failure) : __real_##name args;                   \
    }

WRAP(int, stat, -1, (const char *path, void *out), (path, out))
WRAP(int, fstat, -1, (int fd, void *out), (fd, out))
WRAP(int, statfs, -1, (const char *path, void *out), (path, out))
WRAP(int, statvfs, -1, (const char *path, void *out), (path, out))
WRAP(int, ftruncate, -1, (int fd, off_t len), (fd, len))
WRAP(int, mkdir, -1, (const char *path, mode_t mode), (path, mode))
WRAP(int, fchmod, -1, (int fd, mode_t mode), (fd, mode))
WRAP(int, access, -1, (const char *path, int how), (path, how))
WRAP(int, flock, -1, (int fd, int how), (fd, how))
WRAP(int, socket, -1, (int family, int type, int protocol),
     (family, type, protocol))
WRAP(int, setsockopt, -1,
     (int fd, int level, int name, const void *value, socklen_t len),
     (fd, level, name, value, len))
WRAP(int, getsockopt, -1,
     (int fd, int level, int name, void *value, socklen_t *len),
     (fd, level, name, value, len))
WRAP(int, bind, -1, (int fd, const struct sockaddr *to, socklen_t len),
     (fd, to, len))
WRAP(int, connect, -1, (int fd, const struct sockaddr *to, socklen_t len),
     (fd, to, len))
WRAP(ssize_t, send, -1, (int fd, const void *data, size_t len, int flags),
     (fd, data, len, flags))
WRAP(ssize_t, sendto, -1,
     (int fd, const void *data, size_t len, int flags,
      const struct sockaddr *to, socklen_t to_len),
     (fd, data, len, flags, to, to_len))
WRAP(ssize_t, recv, -1, (int fd, void *data, size_t len, int flags),
     (fd, data, len, flags))
WRAP(int, epoll_create1, -1, (int flags), (flags))
WRAP(int, timerfd_create, -1, (int clock, int flags), (clock, flags))
WRAP(int, eventfd, -1, (unsigned value, int flags), (value, flags))
WRAP(ssize_t, readlink, -1, (const char *path, char *out, size_t size),
     (path, out, size))
WRAP(int, madvise, -1, (void *at, size_t len, int advice), (at, len, advice))
WRAP(void *, mmap, MAP_FAILED,
     (void *at, size_t len, int prot, int flags, int fd, off_t offset),
     (at, len, prot, flags, fd, offset))
WRAP(int, posix_fallocate, errno, (int fd, off_t offset, off_t len),
     (fd, offset, len))
WRAP(int, pthread_create, errno,
     (pthread_t * out, const pthread_attr_t *how, void *(*run)(void *),
      void *argument),
     (out, how, run, argument))
WRAP(DIR *, opendir, NULL, (const char *path), (path))
WRAP(void *, malloc, NULL, (size_t size), (size))
WRAP(void *, calloc, NULL, (size_t count, size_t size), (count, size))
WRAP(void *, realloc, NULL, (void *old, size_t size), (old, size))
WRAP(char *, strdup, NULL, (const char *text), (text))
WRAP(char *, strndup, NULL, (const char *text, size_t size), (text, size))

WRAP(int, mdb_env_create, errno, (void **out), (out))
WRAP(int, mdb_env_open, errno,
     (void *env, const char *path, unsigned flags, mode_t mode),
     (env, path, flags, mode))
WRAP(int, mdb_env_set_mapsize, errno, (void *env, size_t size), (env, size))
WRAP(int, mdb_txn_begin, errno,
     (void *env, void *parent, unsigned flags, void **out),
     (env, parent, flags, out))
WRAP(int, mdb_dbi_open, errno,
     (void *txn, const char *name, unsigned flags, unsigned *out),
     (txn, name, flags, out))
WRAP(int, mdb_get, errno, (void *txn, unsigned dbi, void *key, void *data),
     (txn, dbi, key, data))
WRAP(int, mdb_put, errno,
     (void *txn, unsigned dbi, void *key, void *data, unsigned flags),
     (txn, dbi, key, data, flags))
WRAP(int, mdb_del, errno, (void *txn, unsigned dbi, void *key, void *data),
     (txn, dbi, key, data))
WRAP(int, mdb_cursor_open, errno, (void *txn, unsigned dbi, void **out),
     (txn, dbi, out))
WRAP(int, mdb_cursor_get, errno,
     (void *cursor, void *key, void *data, unsigned how),
     (cursor, key, data, how))
WRAP(int, mdb_cursor_del, errno, (void *cursor, unsigned flags),
     (cursor, flags))

/* Calls of libpq; those that it makes are not reached. Weak: a build may lack
 * it. */
#define WRAP_PQ(type, name, failure, params, args)                             \
    type __real_##name params __attribute__((weak));                           \
    type __wrap_##name params;                                                 \
    type __wrap_##name params                                                  \
    {                                                                          \
        return FAILS(name) ? (failure) : __real_##name args;                   \
    }

WRAP_PQ(void *, PQconnectStartParams, NULL,
        (const char *const *words, const char *const *values, int expand),
        (words, values, expand))
WRAP_PQ(int, PQconnectPoll, 0, (void *conn), (conn))
WRAP_PQ(void *, PQconninfo, NULL, (void *conn), (conn))
WRAP_PQ(void *, PQconninfoParse, NULL, (const char *text, char **error),
        (text, error))
WRAP_PQ(int, PQsetnonblocking, -1, (void *conn, int on), (conn, on))
WRAP_PQ(int, PQenterPipelineMode, 0, (void *conn), (conn))
WRAP_PQ(int, PQexitPipelineMode, 0, (void *conn), (conn))
WRAP_PQ(int, PQpipelineSync, 0, (void *conn), (conn))
WRAP_PQ(int, PQflush, -1, (void *conn), (conn))
WRAP_PQ(int, PQconsumeInput, 0, (void *conn), (conn))
WRAP_PQ(int, PQsendQuery, 0, (void *conn, const char *sql), (conn, sql))
WRAP_PQ(int, PQsendPrepare, 0,
        (void *conn, const char *name, const char *sql, int n,
         const unsigned *types),
        (conn, name, sql, n, types))
WRAP_PQ(int, PQsendQueryPrepared, 0,
        (void *conn, const char *name, int n, const char *const *values,
         const int *lens, const int *formats, int format),
        (conn, name, n, values, lens, formats, format))
WRAP_PQ(int, PQsendQueryParams, 0,
        (void *conn, const char *sql, int n, const unsigned *types,
         const char *const *values, const int *lens, const int *formats,
         int format),
        (conn, sql, n, types, values, lens, formats, format))

/* Only EPOLL_CTL_ADD may fail: a change allocates nothing. */
int __real_epoll_ctl(int epoll, int how, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int how, int fd, struct epoll_event *event);

int __wrap_epoll_ctl(int epoll, int how, int fd, struct epoll_event *event)
{
    return how == EPOLL_CTL_ADD && FAILS(epoll_ctl)
               ? -1
               : __real_epoll_ctl(epoll, how, fd, event);
}

int __wrap_asprintf(char **out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

int __wrap_asprintf(char **out, const char *format, ...)
{
    va_list args;
    if (FAILS(asprintf)) {
        return -1;
    }
    va_start(args, format);
    int len = vasprintf(out, format, args);
    va_end(args);
    return len;
}

/* A commit that fails ends the transaction, too. */
void mdb_txn_abort(void *txn);
int __real_mdb_txn_commit(void *txn);
int __wrap_mdb_txn_commit(void *txn);

int __wrap_mdb_txn_commit(void *txn)
{
    if (FAILS(mdb_txn_commit)) {
        int number = calls.number;
        mdb_txn_abort(txn);
        return number;
    }
    return __real_mdb_txn_commit(txn);
}

/* With an optional argument, which is passed on unchanged. */
#define WRAP_OPTIONAL(name, first_type, second_type, type)                     \
    int __real_##name(first_type first, second_type second, ...);              \
    int __wrap_##name(first_type first, second_type second, ...);              \
    int __wrap_##name(first_type first, second_type second, ...)               \
    {                                                                          \
        va_list rest;                                                          \
        va_start(rest, second);                                                \
        type third = va_arg(rest, type);                                       \
        va_end(rest);                                                          \
        return FAILS(name) ? -1 : __real_##name(first, second, third);         \
    }

WRAP_OPTIONAL(open, const char *, int, unsigned)
WRAP_OPTIONAL(fcntl, int, int, long)
WRAP_OPTIONAL(ioctl, int, unsigned long, void *)

#endif
