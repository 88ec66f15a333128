/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sql/link.h"

#include "base/fail.h"
#include "io/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* ---- The socket --------------------------------------------------------- */

void hf_sql_link_unwatch(struct hf_sql_link *link)
{
    if (link->watch.fd >= 0) {
        hf_loop_unwatch(link->env->loop, &link->watch);
        link->watch.fd = -1;
        link->wants_output = false;
    }
}

void hf_sql_link_watch(struct hf_sql_link *link, int fd)
{
    if (fd == link->watch.fd && fd >= 0) {
        return;
    }
    hf_sql_link_unwatch(link);
    link->watch.fd = fd;
    if (fd < 0 || !hf_loop_watch(link->env->loop, &link->watch)) {
        link->watch.fd = -1;
        hf_sql_link_break(link, HF_UNAVAILABLE,
                          fd < 0 ? "no connection" : hf_errno_text(errno));
    }
}

void hf_sql_link_want_output(struct hf_sql_link *link, bool on)
{
    if (link->watch.fd >= 0 && link->wants_output != on) {
        link->wants_output = on;
        hf_loop_watch_output(link->env->loop, &link->watch, on);
    }
}

/* ---- The look-up -------------------------------------------------------- */

bool hf_sql_link_look_up(struct hf_sql_link *link, const char *host,
                         uint16_t port)
{
    if (hf_resolve_numeric(host, port, &link->addresses)) {
        return true;
    }
    link->resolve = hf_resolve_start(host, port);
    if (link->resolve == NULL) {
        hf_sql_link_break(link, HF_UNAVAILABLE, hf_errno_text(errno));
    } else {
        hf_sql_link_watch(link, hf_resolve_fd(link->resolve));
    }
    return false;
}

bool hf_sql_link_found(struct hf_sql_link *link)
{
    char why[HF_TEXT_SENTENCE];
    if (hf_resolve_take(link->resolve, &link->addresses, why, sizeof(why))) {
        hf_sql_link_unwatch(link);
        hf_resolve_drop(link->resolve);
        link->resolve = NULL;
        return true;
    }
    if (why[0] != '\0') {
        hf_sql_link_break(link, HF_UNAVAILABLE, why);
    }
    return false;
}

/* ---- Deadlines ---------------------------------------------------------- */

long long hf_sql_link_waited_ms(const struct hf_sql_link *link,
                                struct hf_instant now)
{
    struct hf_span left =
        hf_span_max(hf_instant_until(now, link->deadline), (struct hf_span){0});
    return (long long)hf_span_ms_floor(
        hf_span_sub(link->connect_timeout, left));
}

void hf_sql_link_late_text(const struct hf_sql_link *link, bool was_accepted,
                           struct hf_instant now, char *out, size_t size)
{
    long long ms = hf_sql_link_waited_ms(link, now);
    if (ms <= 0) {
        snprintf(out, size, "no connection yet");
    } else if (was_accepted) {
        snprintf(out, size,
                 "accepted the connection, but did not answer within %lld ms",
                 ms);
    } else {
        snprintf(out, size, "no connection within %lld ms", ms);
    }
}

/* ---- Life --------------------------------------------------------------- */

void hf_sql_link_init(struct hf_sql_link *link, const struct hf_store_env *env,
                      struct hf_span connect_timeout, hf_watch_fn *ready,
                      void (*fire)(struct hf_timer *timer,
                                   struct hf_instant now))
{
    link->watch = (struct hf_watch){.fd = -1, .ready = ready};
    link->timer = (struct hf_timer){.at = HF_NEVER, .fire = fire};
    hf_loop_add_timer(env->loop, &link->timer);
    link->env = env;
    link->connect_timeout = connect_timeout;
    hf_reconnect_init(&link->reconnect);
    hf_entropy(&link->seed, sizeof(link->seed));
}

void hf_sql_link_break(struct hf_sql_link *link, enum hf_status fault,
                       const char *reason)
{
    if (link->is_broken) {
        return;
    }
    link->is_broken = true;
    link->fault = fault;
    snprintf(link->reason, sizeof(link->reason), "%s", reason);
    hf_error_make_plain(link->reason);
    hf_timer_set(&link->timer, HF_LONG_AGO);
}

void hf_sql_link_starve(struct hf_sql_link *link)
{
    hf_sql_link_break(link, HF_NO_MEMORY, "out of memory");
}

void hf_sql_link_shut(struct hf_sql_link *link)
{
    hf_resolve_drop(link->resolve);
    link->resolve = NULL;
    link->is_open = false;
    link->is_broken = false;
    hf_reconnect_closed(&link->reconnect);
}

void hf_sql_link_disown(struct hf_sql_link *link, int fd)
{
    int null = fd < 0 ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
    link->resolve = NULL; /* only the parent has its thread */
    link->watch.fd = -1;  /* the parent watches it */
    if (null >= 0) {
        dup2(null, fd);
        close(null);
    } else if (fd >= 0) {
        close(fd);
    }
}
