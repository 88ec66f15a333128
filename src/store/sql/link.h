/* SPDX-License-Identifier: Apache-2.0 */
/* What the connections to PostgreSQL and to MySQL have in common: the look-up
 * of the host, the watch and the timer on the loop, deadlines, and the end.
 * libpq and libmariadb, and all that is asked of them, are the connection's.
 *
 *     hf_sql_link_init()      closed, and no retry is planned
 *     hf_sql_link_look_up()   the connection begins
 *     hf_sql_link_break()     an error: the owner closes it at the end of the
 *                             event
 *     hf_sql_link_shut()      it is closed */
#ifndef HF_SQL_LINK_H
#define HF_SQL_LINK_H

#include "io/loop.h"
#include "io/resolve.h"
#include "store/reconnect.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_sql_link {
    struct hf_watch watch; /* first; of the socket, the look-up or the dial */
    struct hf_timer timer;
    const struct hf_store_env *env;
    struct hf_span connect_timeout;
    struct hf_resolve *resolve;
    struct hf_addresses addresses;
    struct hf_instant deadline; /* of opening, then of the owner's requests */
    struct hf_reconnect reconnect;
    struct hf_instant heard_at; /* opened, or last reply */
    uint64_t seed;              /* of the back-off's jitter */
    bool wants_output;
    bool is_open;
    bool is_broken;       /* to be closed; see `fault` and `reason` */
    enum hf_status fault; /* HF_UNAVAILABLE, HF_DENIED, HF_CONFIG, HF_NO_MEMORY
                           */
    char reason[HF_TEXT_REASON];
};

/** CLOSED, with its timer in the loop, but idle. @param ready  of its socket.
 * @param fire  of its timer. */
void hf_sql_link_init(struct hf_sql_link *link, const struct hf_store_env *env,
                      struct hf_span connect_timeout, hf_watch_fn *ready,
                      void (*fire)(struct hf_timer *timer,
                                   struct hf_instant now));

/** Begin with the host's addresses. @return true: `addresses` has them; false:
 * hf_sql_link_found() will have them when the watch is ready, or it broke. */
bool hf_sql_link_look_up(struct hf_sql_link *link, const char *host,
                         uint16_t port);

/** The watch is ready while a look-up is under way. @return true: it has ended,
 * and `addresses` has the result; false: not yet, or it broke. */
bool hf_sql_link_found(struct hf_sql_link *link);

/* Watch this descriptor, and no other; -1: the connection breaks. */
void hf_sql_link_watch(struct hf_sql_link *link, int fd);

/* Take the socket out of the loop; it stays open. Before the library closes it.
 */
void hf_sql_link_unwatch(struct hf_sql_link *link);

/* Wait for room for output, too. */
void hf_sql_link_want_output(struct hf_sql_link *link, bool on);

/* Mark it broken; the first reason is kept. The owner must close it at the end
 * of the event. */
void hf_sql_link_break(struct hf_sql_link *link, enum hf_status fault,
                       const char *reason);

/* The same: out of memory. */
void hf_sql_link_starve(struct hf_sql_link *link);

/* How long the step has taken of which `deadline` is the end, at `now`. */
long long hf_sql_link_waited_ms(const struct hf_sql_link *link,
                                struct hf_instant now);

/* Describe the step in which the connection timed out. */
void hf_sql_link_late_text(const struct hf_sql_link *link, bool was_accepted,
                           struct hf_instant now, char *out, size_t size);

/* The client library has closed its socket, which is not watched any more. */
void hf_sql_link_shut(struct hf_sql_link *link);

/* In a forked child: the good-bye of the client library would end the parent's
 * session. So its socket gets another descriptor, to which nothing can be
 * sent. */
void hf_sql_link_disown(struct hf_sql_link *link, int fd);

#endif
