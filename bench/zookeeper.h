/* SPDX-License-Identifier: Apache-2.0 */
/* A bare client of ZooKeeper: the single-threaded library, pumped until what
 * was asked is answered. */
#ifndef HF_BENCH_ZOOKEEPER_H
#define HF_BENCH_ZOOKEEPER_H

#include "measure.h"

#include <poll.h>
#include <stdbool.h>
#include <zookeeper/zookeeper.h>

#define ZK_TIMEOUT_MS 15000

struct zk {
    zhandle_t *library;
    int pending; /* requests that were not answered yet */
    int failed;
    int events;     /* of watches */
    char path[512]; /* of the node that was created last */
};

static inline void zk_on_event(zhandle_t *library, int type, int state,
                               const char *path, void *user)
{
    struct zk *zk = user;
    (void)library;
    (void)state;
    (void)path;
    zk->events += type != ZOO_SESSION_EVENT;
}

/* One step of the library. */
static inline void zk_pump(struct zk *zk)
{
    struct timeval wait;
    struct pollfd fd = {0};
    int interest = 0;
    (void)zookeeper_interest(zk->library, &fd.fd, &interest, &wait);
    fd.events = (short)(((interest & ZOOKEEPER_READ) != 0 ? POLLIN : 0) |
                        ((interest & ZOOKEEPER_WRITE) != 0 ? POLLOUT : 0));
    (void)poll(&fd, 1, (int)(wait.tv_sec * 1000 + wait.tv_usec / 1000) + 1);
    (void)zookeeper_process(
        zk->library, ((fd.revents & POLLIN) != 0 ? ZOOKEEPER_READ : 0) |
                         ((fd.revents & POLLOUT) != 0 ? ZOOKEEPER_WRITE : 0));
}

static inline void zk_asked(struct zk *zk, int rc)
{
    if (rc != ZOK) {
        die_text("zookeeper", zerror(rc));
    }
    zk->pending++;
}

static inline void zk_await(struct zk *zk)
{
    while (zk->pending > 0) {
        zk_pump(zk);
    }
}

static inline void zk_done(struct zk *zk, int rc)
{
    zk->pending--;
    zk->failed += rc != ZOK && rc != ZNODEEXISTS;
}

static inline void zk_on_string(int rc, const char *value, const void *user)
{
    struct zk *zk = (struct zk *)(uintptr_t)user;
    if (rc == ZOK) {
        (void)snprintf(zk->path, sizeof(zk->path), "%s", value);
    }
    zk_done(zk, rc);
}

static inline void zk_on_sync(int rc, const char *value, const void *user)
{
    (void)value;
    zk_done((struct zk *)(uintptr_t)user, rc);
}

static inline void zk_on_void(int rc, const void *user)
{
    zk_done((struct zk *)(uintptr_t)user, rc);
}

static inline void zk_on_data(int rc, const char *value, int len,
                              const struct Stat *stat, const void *user)
{
    (void)value;
    (void)len;
    (void)stat;
    zk_done((struct zk *)(uintptr_t)user, rc);
}

static inline void zk_on_stat(int rc, const struct Stat *stat, const void *user)
{
    (void)stat;
    zk_done((struct zk *)(uintptr_t)user, rc);
}

static inline void zk_on_list(int rc, const struct String_vector *names,
                              const struct Stat *stat, const void *user)
{
    (void)names;
    (void)stat;
    zk_done((struct zk *)(uintptr_t)user, rc);
}

static inline void zk_create(struct zk *zk, const char *path, int mode)
{
    zk_asked(zk, zoo_acreate(zk->library, path, "", 0, &ZOO_OPEN_ACL_UNSAFE,
                             mode, zk_on_string, zk));
}

/* `address`: HOST:PORT. */
static inline void zk_open(struct zk *zk, const char *address)
{
    int64_t until = now_ns() + INT64_C(20000000000);
    memset(zk, 0, sizeof(*zk));
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    zk->library =
        zookeeper_init(address, zk_on_event, ZK_TIMEOUT_MS, NULL, zk, 0);
    if (zk->library == NULL) {
        die(address);
    }
    while (zoo_state(zk->library) != ZOO_CONNECTED_STATE) {
        if (now_ns() > until) {
            die_text(address, "not connected");
        }
        zk_pump(zk);
    }
}

static inline void zk_close(struct zk *zk)
{
    (void)zookeeper_close(zk->library);
}

#endif
