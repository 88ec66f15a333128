/* SPDX-License-Identifier: Apache-2.0 */
/* A HANDLE OF THE LIBRARY ON THE LOOP
 *
 * The single-threaded library connects, reads and writes in two functions:
 * zookeeper_interest() returns the events it waits for, and connects;
 * zookeeper_process() does the work that is ready. So a stopped program sends
 * no pings, and its sessions end.
 *
 * The library gives up a silent connection after 2/3 of its session's timeout.
 * That is too late to find another server in time, so we give it up earlier: a
 * socket that is closed at its other end takes the place of its descriptor. The
 * same is done before a handle is freed that must not end its session, and in a
 * forked child.
 *
 * Each address is tried once in a round, which begins with the newest list. By
 * itself the library goes on with every second one, so never with some of an
 * even number; and it compares lists without ports. So it gets another list in
 * between, and none while it is connected: that may leave requests unanswered.
 *
 * A session lives from its last contact with a server that the leader has heard
 * of: up to half a tick ago (contacts.c). So a session that is in use has
 * contact each twelfth of its timeout, and a renewal, which is a write, counts
 * for two thirds of it (session.c): 1/12 for the contact before it, 1/4 for
 * half a tick, since a timeout has two ticks at least.
 *
 * The library's log goes into `why`, nothing to stderr.
 *
 * Cost: one small read at the server for each 24th of the timeout, while the
 * session is in use. Each packet that is read costs a poll(), and each event an
 * fstat(), to see whether the library has replaced its descriptor. */
#include "store/zookeeper/handle.h"
#include "store/ordered/wire_key.h"
#include "store/zookeeper/calls.h"
#include "store/zookeeper/contacts.h"
#include "store/zookeeper/op_parts.h"
#include "store/zookeeper/zookeeper.h"

#include "base/fail.h"
#include "io/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Packets that one event may read. */
#define TURN_PACKETS 64

/* Steps of the library in one event: an attempt to connect may fail at once. */
#define TURN_TRIES 4

/* Handles of one client: its loop has 64 places (io/loop.c). */
#define HANDLES_MAX 40

/* Contacts in the timeout of a session that is in use: as many as count, and
 * twice as many are made, since answers may be late. */
#define CONTACTS 12
#define CONTACTS_MADE 24

/* Half a tick as a part of a timeout, at most: it has two ticks at least, and
 * three where it was shortened (session.c). */
#define HALF_TICKS 4
#define HALF_TICKS_CAPPED 6

/* Of one attempt to connect, and after all servers have failed, in
 * milliseconds: an election takes some hundred. It grows with each round. */
#define ATTEMPT_MS_MIN 200
#define PAUSE_MS 50
#define PAUSES_MAX 4

/* No server's address: the list between two others. */
#define NOWHERE "255.255.255.255:1"

/* As long as a server with a leader needs at most, in milliseconds. */
#define SILENCE_MS_MIN 1000
#define SILENCE_TIMEOUTS 2

/* The library's callback for its log has no argument: the handle that is being
 * driven by this thread. */
static _Thread_local struct hf_zk_handle *driven;

/* The library's errors for a connection that the server has closed: before it
 * writes, after that, or before it reads. */
static bool is_closed(long error)
{
    return error == EPIPE || error == ECONNRESET || error == EHOSTDOWN;
}

/* A server gives no reason when it refuses a session. */
static const char *closed_text(const struct hf_zk_handle *handle)
{
    return zoo_state(handle->library) == ZOO_CONNECTED_STATE
               ? "closed the connection"
               : "refuses a session (it is starting, has no majority, older "
                 "data than this client has seen, or too many connections of "
                 "this host: maxClientCnxns)";
}

/* "…:func@line: Socket [H:P] zk retcode=-4, errno=111(Connection refused): …"
 */
static void on_log(const char *message)
{
    const char *at = strstr(message, "errno=");
    const char *open = at == NULL ? NULL : strchr(at, '(');
    const char *end = open == NULL ? NULL : strstr(open, "): ");
    if (driven == NULL || end == NULL) {
        return;
    }
    if (is_closed(strtol(at + strlen("errno="), NULL, 10))) {
        snprintf(driven->why, sizeof(driven->why), "%s", closed_text(driven));
        return;
    }
    snprintf(driven->why, sizeof(driven->why), "%.*s", (int)(end - open - 1),
             open + 1);
    hf_error_make_plain(driven->why);
}

/* ---- The end of a connection --------------------------------------------- */

/* Whether the library still has the descriptor that is watched. Each of its
 * functions that sends may close it, and another thread may have opened one
 * with the same number since. */
static bool has_socket(const struct hf_zk_handle *handle)
{
    struct stat status;
    return handle->is_watched && fstat(handle->watch.fd, &status) == 0 &&
           S_ISSOCK(status.st_mode) && status.st_ino == handle->socket;
}

/* A descriptor of a connection that is closed takes its place. */
static void replace_descriptor(int fd)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   pair) != 0) {
        (void)shutdown(fd, SHUT_RDWR);
        return;
    }
    close(pair[1]);
    (void)dup3(pair[0], fd, O_CLOEXEC);
    close(pair[0]);
}

static void unwatch(struct hf_zk_handle *handle)
{
    struct hf_loop *loop = handle->zk->ordered.env.loop;
    if (has_socket(handle)) {
        hf_loop_unwatch(loop, &handle->watch);
    } else if (handle->is_watched) {
        hf_loop_unwatch_closed(loop, &handle->watch);
    }
    handle->is_watched = handle->wants_output = false;
}

void hf_zk_handle_break(struct hf_zk_handle *handle, const char *why)
{
    bool is_open = has_socket(handle);
    unwatch(handle);
    if (is_open) {
        replace_descriptor(handle->watch.fd);
    }
    snprintf(handle->why, sizeof(handle->why), "%s", why);
    hf_zk_handle_wake(handle);
}

static void unlink_handle(struct hf_zk_handle *handle)
{
    struct hf_zk *zk = handle->zk;
    struct hf_zk_handle **at = &zk->handles;
    while (*at != NULL && *at != handle) {
        at = &(*at)->next;
    }
    if (*at == handle) {
        *at = handle->next;
    }
    if (zk->main == handle) {
        zk->main = NULL;
    }
    hf_loop_drop_timer(zk->ordered.env.loop, &handle->timer);
}

/* The library answers the calls that are under way. */
static void free_handle(struct hf_zk_handle *handle)
{
    handle->life = HF_ZK_EXPIRED;
    driven = handle;
    (void)zookeeper_close(handle->library);
    driven = NULL;
    handle->library = NULL;
    while (handle->first_op != NULL) {
        hf_zk_op_free(handle->first_op);
    }
    hf_zk_records_free(handle);
    free(handle->node);
    free(handle);
}

void hf_zk_handle_free(struct hf_zk_handle *handle, bool ends_session)
{
    bool is_open = has_socket(handle);
    unlink_handle(handle);
    unwatch(handle);
    if (is_open && !ends_session) {
        replace_descriptor(handle->watch.fd);
    }
    free_handle(handle);
}

void hf_zk_handle_free_forked(struct hf_zk_handle *handle)
{
    unlink_handle(handle);
    if (has_socket(handle)) {
        replace_descriptor(handle->watch.fd);
    }
    free_handle(handle);
}

/* ---- Driving ------------------------------------------------------------- */

static void on_event(zhandle_t *library, int type, int state, const char *path,
                     void *context)
{
    struct hf_zk_handle *handle = context;
    (void)path;
    if (type != ZOO_SESSION_EVENT) {
        return;
    }
    if (state == ZOO_CONNECTED_STATE) {
        handle->life = HF_ZK_CONNECTED;
        handle->failed = 0;
        handle->id = zoo_client_id(library)->client_id;
        handle->timeout = hf_span_ms(zoo_recv_timeout(library));
        hf_zk_contacts_begin(&handle->contacts, handle->opened_at);
        if (hf_zk_session_is_short(handle)) {
            handle->life = HF_ZK_EXPIRED;
        }
    } else if (state == ZOO_EXPIRED_SESSION_STATE ||
               state == ZOO_AUTH_FAILED_STATE) {
        handle->life = HF_ZK_EXPIRED;
    } else {
        handle->life = HF_ZK_CONNECTING;
    }
    hf_zk_handle_wake(handle);
}

/* The servers share the time for a connection. */
static struct hf_instant attempt_until(const struct hf_zk_handle *handle,
                                       struct hf_instant now)
{
    const struct hf_zk *zk = handle->zk;
    struct hf_span each = hf_span_div(
        zk->connect_timeout, zk->n_addresses == 0 ? 1 : zk->n_addresses);
    return hf_instant_add(now, hf_span_max(each, hf_span_ms(ATTEMPT_MS_MIN)));
}

/* The library may have closed its descriptor, and opened another one with the
 * same number. */
static void follow(struct hf_zk_handle *handle, int fd, bool wants_output,
                   struct hf_instant now)
{
    struct hf_loop *loop = handle->zk->ordered.env.loop;
    struct stat status = {0};
    bool is_open = fd >= 0 && fstat(fd, &status) == 0;
    bool is_same = handle->is_watched && is_open && handle->watch.fd == fd &&
                   handle->socket == status.st_ino;
    if (!is_same) {
        unwatch(handle);
    }
    if (!is_same && is_open) {
        handle->watch.fd = fd;
        handle->socket = status.st_ino;
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        handle->is_watched = hf_loop_watch(loop, &handle->watch);
        handle->opened_at = now;
        handle->give_up = attempt_until(handle, now);
    }
    if (handle->is_watched && wants_output != handle->wants_output) {
        handle->wants_output = wants_output;
        hf_loop_watch_output(loop, &handle->watch, wants_output);
    }
}

static struct hf_span silence_of(const struct hf_zk *zk)
{
    return hf_span_max(hf_span_ms(SILENCE_MS_MIN),
                       hf_span_scale(zk->node_timeout, SILENCE_TIMEOUTS));
}

static struct hf_instant silent_at(const struct hf_zk_handle *handle)
{
    struct hf_instant at =
        hf_instant_add(handle->contact_at, silence_of(handle->zk));
    for (const struct hf_zk_op *op = handle->first_op; op != NULL;
         op = op->next) {
        if (op->pending > 0) {
            at = hf_instant_min(
                at, hf_instant_add(op->asked, silence_of(handle->zk)));
        }
    }
    return at;
}

static bool is_in_use(const struct hf_zk_handle *handle, struct hf_instant now)
{
    return handle->life == HF_ZK_CONNECTED && !handle->is_main &&
           !hf_zk_session_is_unused(handle, now);
}

static void on_contact(int rc, const struct Stat *stat, const void *data)
{
    struct hf_zk_handle *handle = (struct hf_zk_handle *)(uintptr_t)data;
    (void)stat;
    if (rc == ZOK && !hf_instant_is_never(handle->contact_at)) {
        hf_zk_contacts_add(&handle->contacts, handle->contact_at,
                           hf_clock_now());
    }
    handle->contact_at = HF_NEVER;
}

bool hf_zk_handle_may_renew(const struct hf_zk_handle *handle,
                            struct hf_instant now)
{
    int64_t parts =
        hf_zk_handle_is_capped(handle) ? HALF_TICKS_CAPPED : HALF_TICKS;
    return hf_zk_contacts_suffice(&handle->contacts, now,
                                  hf_span_div(handle->timeout, parts),
                                  hf_span_div(handle->timeout, CONTACTS));
}

/** Keep a session in contact. @return when next. */
static struct hf_instant contact(struct hf_zk_handle *handle,
                                 struct hf_instant now)
{
    struct hf_span each = hf_span_div(handle->timeout, CONTACTS_MADE);
    if (!is_in_use(handle, now)) {
        return HF_NEVER;
    }
    if (hf_instant_is_never(handle->contact_at) &&
        !hf_instant_before(now, hf_instant_add(handle->touched, each))) {
        handle->touched = now;
        if (zoo_aexists(handle->library, "/", 0, on_contact, handle) == ZOK) {
            handle->contact_at = now;
        }
    }
    return hf_instant_add(handle->touched, each);
}

static void begin_round(struct hf_zk_handle *handle)
{
    handle->begins_round = false;
    (void)zoo_set_servers(handle->library, NOWHERE);
    zoo_cycle_next_server(handle->library); /* its own address is none now */
    (void)zoo_set_servers(handle->library, handle->zk->hosts);
}

/** Ask for the events the library waits for. @return false: its connection has
 * failed. */
static bool interest(struct hf_zk_handle *handle, struct hf_instant now)
{
    int fd = -1;
    int wants = 0;
    struct timeval wait = {0};
    if (handle->begins_round && handle->life == HF_ZK_CONNECTING &&
        !handle->is_watched) {
        begin_round(handle);
    }
    int rc = zookeeper_interest(handle->library, &fd, &wants, &wait);
    if (rc != ZOK) {
        unwatch(handle);
        if (zoo_state(handle->library) == ZOO_EXPIRED_SESSION_STATE ||
            zoo_state(handle->library) == ZOO_AUTH_FAILED_STATE) {
            handle->life = HF_ZK_EXPIRED;
        }
        hf_timer_set(&handle->timer, HF_LONG_AGO);
        return false;
    }
    follow(handle, fd, (wants & ZOOKEEPER_WRITE) != 0, now);
    struct hf_span span =
        hf_span_us(wait.tv_sec * INT64_C(1000000) + wait.tv_usec + 1000);
    hf_timer_set(&handle->timer, hf_instant_add(now, span));
    return true;
}

static bool has_input(int fd)
{
    struct pollfd at = {.fd = fd, .events = POLLIN};
    return poll(&at, 1, 0) == 1;
}

/** @return false: its connection has failed. */
static bool process(struct hf_zk_handle *handle, int events)
{
    int rc = ZOK;
    for (unsigned i = 0; i < TURN_PACKETS && rc == ZOK; i++) {
        rc = zookeeper_process(handle->library, events);
        events = ZOOKEEPER_READ;
        if (rc == ZOK && !(handle->is_watched && has_input(handle->watch.fd))) {
            return true;
        }
    }
    if (rc == ZOK && has_socket(handle)) {
        hf_loop_rearm(handle->zk->ordered.env.loop, &handle->watch);
    }
    return rc == ZOK || rc == ZNOTHING;
}

static void note_failure(struct hf_zk_handle *handle, struct hf_instant now)
{
    unwatch(handle);
    if (handle->life == HF_ZK_CONNECTED) {
        handle->life = HF_ZK_CONNECTING;
    }
    handle->failed++;
    handle->contact_at = HF_NEVER;
    if (handle->failed % handle->zk->n_addresses == 0) {
        unsigned rounds = handle->failed / handle->zk->n_addresses;
        rounds = rounds < PAUSES_MAX ? rounds : PAUSES_MAX;
        handle->pause_until =
            hf_instant_add(now, hf_span_scale(hf_span_ms(PAUSE_MS), rounds));
        handle->begins_round = true;
    }
    handle->has_failed = true;
    handle->give_up = attempt_until(handle, now);
}

static bool pauses(const struct hf_zk_handle *handle, struct hf_instant now)
{
    return handle->life == HF_ZK_CONNECTING && !handle->is_watched &&
           hf_instant_before(now, handle->pause_until);
}

static void drive(struct hf_zk_handle *handle, int events,
                  struct hf_instant now)
{
    if (handle->is_over || handle->library == NULL) {
        return;
    }
    driven = handle;
    if (events != 0 && !process(handle, events)) {
        note_failure(handle, now);
    }
    for (unsigned i = 0; i < TURN_TRIES && handle->life != HF_ZK_EXPIRED &&
                         !pauses(handle, now) && !interest(handle, now);
         i++) {
        note_failure(handle, now);
    }
    if (pauses(handle, now)) {
        hf_timer_set(&handle->timer, handle->pause_until);
    }
    driven = NULL;
    if (handle->life != handle->told || handle->has_failed) {
        hf_timer_set(&handle->timer, HF_LONG_AGO);
    }
}

static void on_ready(struct hf_watch *watch, uint32_t events,
                     struct hf_instant now)
{
    struct hf_zk_handle *handle =
        (struct hf_zk_handle *)(void *)((char *)watch -
                                        offsetof(struct hf_zk_handle, watch));
    struct hf_zk *zk = handle->zk;
    int what = 0;
    zk->now = now;
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLRDHUP | EPOLLERR)) != 0) {
        what |= ZOOKEEPER_READ;
    }
    if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
        what |= ZOOKEEPER_WRITE;
    }
    drive(handle, what, now);
    hf_ordered_check(&zk->ordered);
}

/* ---- Time ---------------------------------------------------------------- */

static void give_up(struct hf_zk_handle *handle, struct hf_instant now)
{
    struct hf_instant silent = silent_at(handle);
    if (handle->life == HF_ZK_CONNECTED && !hf_instant_before(now, silent)) {
        hf_zk_handle_break(handle, "no answer in time");
        (void)zookeeper_process(handle->library, ZOOKEEPER_READ);
        note_failure(handle, now);
    } else if (handle->life == HF_ZK_CONNECTING && handle->is_watched &&
               !hf_instant_before(now, handle->give_up)) {
        hf_zk_handle_break(handle, "no answer to the connection in time");
        (void)zookeeper_process(handle->library,
                                ZOOKEEPER_READ | ZOOKEEPER_WRITE);
        (void)zookeeper_process(handle->library, ZOOKEEPER_READ);
        note_failure(handle, now);
    }
}

void hf_zk_handle_step(struct hf_zk_handle *handle, struct hf_instant now)
{
    struct hf_zk *zk = handle->zk;
    zk->now = now;
    if (handle->is_over || hf_zk_session_is_unused(handle, now)) {
        hf_zk_handle_free(handle, true);
        return;
    }
    give_up(handle, now);
    drive(handle, 0, now);
    bool has_changed = handle->life != handle->told || handle->has_failed;
    if (has_changed) {
        hf_zk_node_changed(handle, now); /* it may be freed */
        hf_ordered_check(&zk->ordered);
        return;
    }
    struct hf_instant at =
        hf_instant_min(handle->timer.at, contact(handle, now));
    at = hf_instant_min(at, silent_at(handle));
    if (handle->life == HF_ZK_CONNECTING && handle->is_watched) {
        at = hf_instant_min(at, handle->give_up);
    }
    hf_timer_set(&handle->timer, at);
}

static void on_timer(struct hf_timer *timer, struct hf_instant now)
{
    hf_zk_handle_step(
        (struct hf_zk_handle *)(void *)((char *)timer -
                                        offsetof(struct hf_zk_handle, timer)),
        now);
}

/* ---- Life ---------------------------------------------------------------- */

static bool has_room(const struct hf_zk *zk)
{
    unsigned n = 0;
    for (const struct hf_zk_handle *handle = zk->handles; handle != NULL;
         handle = handle->next) {
        n++;
    }
    return n < HANDLES_MAX;
}

static void on_login(int rc, const void *data)
{
    (void)rc; /* a login that is refused ends the session */
    (void)data;
}

struct hf_zk_handle *hf_zk_handle_new(struct hf_zk *zk, struct hf_span timeout,
                                      bool is_main, struct hf_instant now)
{
    struct hf_zk_handle *handle =
        has_room(zk) ? calloc(1, sizeof(*handle)) : NULL;
    if (handle == NULL) {
        return NULL;
    }
    handle->zk = zk;
    handle->is_main = is_main;
    handle->ends_session = is_main;
    handle->watch = (struct hf_watch){.fd = -1, .ready = on_ready};
    handle->timer = (struct hf_timer){.at = HF_LONG_AGO, .fire = on_timer};
    handle->touched = handle->used = handle->opened_at = now;
    handle->give_up = attempt_until(handle, now);
    handle->contact_at = HF_NEVER;
    handle->pause_until = HF_LONG_AGO;
    hf_zk_target_login(zk);
    driven = handle;
    handle->library =
        zookeeper_init2(zk->hosts, on_event, (int)hf_span_ms_floor(timeout),
                        NULL, handle, ZOO_NO_LOG_CLIENTENV, on_log);
    driven = NULL;
    if (handle->library == NULL) {
        free(handle);
        return NULL;
    }
    (void)zoo_set_servers_resolution_delay(handle->library, -1);
    if (zk->login != NULL) {
        (void)zoo_add_auth(handle->library, "digest", zk->login,
                           (int)strlen(zk->login), on_login, NULL);
    }
    hf_loop_add_timer(zk->ordered.env.loop, &handle->timer);
    handle->next = zk->handles;
    zk->handles = handle;
    return handle;
}

struct hf_zk_handle *hf_zk_handle_of(struct hf_zk *zk,
                                     const uint8_t session[HF_SESSION_ID_LEN])
{
    int64_t id = (int64_t)hf_wire_id_of(session);
    struct hf_zk_handle *handle = zk->handles;
    while (handle != NULL &&
           (handle->is_main || handle->id != id || handle->is_over ||
            handle->life == HF_ZK_EXPIRED)) {
        handle = handle->next;
    }
    return handle;
}
