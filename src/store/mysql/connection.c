/* SPDX-License-Identifier: Apache-2.0 */
/* LIBMARIADB ON THE LOOP
 *
 * Each call of libmariadb that may wait has two forms: one returns the events
 * to wait for, one goes on: mysql_real_query_start(), _cont(). Between the two
 * libmariadb keeps the call on a stack of its own. It reads and writes until
 * EAGAIN before it waits, so the edge-triggered loop misses nothing.
 *
 *     start ──▶ waits for input or output ──▶ event ──▶ cont ──▶ … ──▶ 0: done
 *
 * Over TLS, connecting has a thread of its own (dial.h); queries are the same.
 *
 * No timeout of libmariadb is set: ours are the owner's. Its sockets are not
 * closed on exec, so ours are marked as soon as they are seen: a command that
 * inherits one would keep the session, and its locks, alive.
 *
 * Cost: one write and one round trip for a text of statements, however many it
 * has. Connecting costs TCP, the server's greeting and the login. An idle
 * session that gets an event costs one poll().
 *
 * Source: MariaDB's manual, "Non-Blocking API Reference". */
#include "store/mysql/connection.h"
#include "base/assert.h"
#include "base/fail.h"
#include "store/mysql/opening.h"
#include "store/mysql/tls_scope.h"

#include <errmsg.h>
#include <errno.h>
#include <fcntl.h>
#include <mysql.h>
#include <mysqld_error.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* As all connections of the library: dead after 30 s of silence and four
 * probes, 10 s apart, so after 70 s. */
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_EACH_S 10
#define KEEPALIVE_COUNT 4

/* ---- Errors ------------------------------------------------------------- */

/* Break with the error of libmariadb. */
static void fail(struct hf_mysql_connection *connection)
{
    char why[sizeof(connection->link.reason)];
    enum hf_status fault = mysql_errno(connection->sql) == CR_OUT_OF_MEMORY
                               ? HF_NO_MEMORY
                               : HF_UNAVAILABLE;
    if (connection->link.is_open) {
        snprintf(why, sizeof(why), "%s", mysql_error(connection->sql));
    } else {
        fault = hf_mysql_target_fault(connection->target, connection->sql, why,
                                      sizeof(why));
    }
    hf_mysql_connection_break(connection, fault,
                              why[0] == '\0' ? "connection lost" : why);
}

/* After these the session has ended, or ends. */
static bool is_of_session(unsigned error)
{
    return (error >= CR_MIN_ERROR && error <= CR_MAX_ERROR) ||
           error == ER_SERVER_SHUTDOWN || error == ER_CONNECTION_KILLED ||
           error == ER_NEW_ABORTING_CONNECTION ||
           error == ER_ABORTING_CONNECTION;
}

/* ---- The socket --------------------------------------------------------- */

static void set_socket_options(int fd)
{
    int idle = KEEPALIVE_IDLE_S;
    int each = KEEPALIVE_EACH_S;
    int count = KEEPALIVE_COUNT;
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &each, sizeof(each));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

static void watch_socket(struct hf_mysql_connection *connection)
{
    int fd = (int)mysql_get_socket(connection->sql);
    if (fd != connection->link.watch.fd) {
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    hf_sql_link_watch(&connection->link, fd);
}

/* ---- Calls -------------------------------------------------------------- */

static void become_open(struct hf_mysql_connection *connection,
                        struct hf_instant now)
{
    my_bool no = 0;
    watch_socket(connection);
    if (connection->link.is_broken) {
        return;
    }
    if (connection->target->tls != NULL &&
        mysql_get_ssl_cipher(connection->sql) == NULL) {
        hf_mysql_connection_break(connection, HF_CONFIG,
                                  "is connected without TLS");
        return;
    }
    set_socket_options(connection->link.watch.fd);
    /* An option file may say otherwise. */
    mysql_options(connection->sql, MYSQL_OPT_RECONNECT, &no);
    connection->link.is_open = true;
    connection->link.heard_at = now;
    connection->events->opened(connection, now);
}

void hf_mysql_connection_keep(struct hf_mysql_connection *connection)
{
    connection->rows = NULL;
}

static void free_rows(struct hf_mysql_connection *connection)
{
    mysql_free_result(connection->rows);
    connection->rows = NULL;
}

/** One reply. @return whether more follow. */
static bool deliver(struct hf_mysql_connection *connection,
                    struct hf_instant now)
{
    struct st_mysql_res *rows = connection->rows;
    struct hf_mysql_reply reply = {.error = mysql_errno(connection->sql),
                                   .text = mysql_error(connection->sql),
                                   .sqlstate = mysql_sqlstate(connection->sql),
                                   .rows = rows};
    MYSQL_ROW row = rows == NULL ? NULL : mysql_fetch_row(rows);
    reply.is_last = reply.error != 0 || !mysql_more_results(connection->sql);
    if (reply.is_last) {
        connection->call = HF_MYSQL_REST;
    }
    if (is_of_session(reply.error)) {
        fail(connection);
        return false;
    }
    if (row != NULL) {
        reply.n = mysql_num_fields(rows);
        reply.columns = (const char *const *)row;
    }
    connection->link.heard_at = now;
    connection->events->replied(connection, &reply, now);
    free_rows(connection);
    return !reply.is_last && !connection->link.is_broken;
}

static void end_connect(struct hf_mysql_connection *connection,
                        const struct st_mysql *made, struct hf_instant now)
{
    connection->call = HF_MYSQL_REST;
    hf_mysql_login_fini(&connection->login);
    if (made == NULL) {
        fail(connection);
    } else {
        become_open(connection, now);
    }
}

static int step_connect(struct hf_mysql_connection *connection, int events,
                        struct hf_instant now)
{
    struct st_mysql *made = NULL;
    hf_sql_link_unwatch(&connection->link); /* the socket may be replaced */
    int waits = mysql_real_connect_cont(&made, connection->sql, events);
    if (waits == 0) {
        end_connect(connection, made, now);
    }
    return waits;
}

static int begin_call(struct hf_mysql_connection *connection)
{
    struct st_mysql *sql = connection->sql;
    connection->has_failed = 0;
    if (connection->call == HF_MYSQL_STORE) {
        return mysql_store_result_start(&connection->rows, sql);
    }
    if (connection->call == HF_MYSQL_NEXT) {
        return mysql_next_result_start(&connection->has_failed, sql);
    }
    return mysql_real_query_start(&connection->has_failed, sql,
                                  connection->statements,
                                  connection->statements_len);
}

static int continue_call(struct hf_mysql_connection *connection, int events)
{
    struct st_mysql *sql = connection->sql;
    if (connection->call == HF_MYSQL_STORE) {
        return mysql_store_result_cont(&connection->rows, sql, events);
    }
    if (connection->call == HF_MYSQL_NEXT) {
        return mysql_next_result_cont(&connection->has_failed, sql, events);
    }
    return mysql_real_query_cont(&connection->has_failed, sql, events);
}

static int step_call(struct hf_mysql_connection *connection, int events)
{
    struct hf_mysql_tls_scope scope;
    hf_mysql_tls_scope_begin(&scope, connection->target->tls);
    int waits = events == 0 ? begin_call(connection)
                            : continue_call(connection, events);
    hf_mysql_tls_scope_end(&scope);
    return waits;
}

/** QUERY, STORE, NEXT, STORE, NEXT, STORE. @param events  MYSQL_WAIT_*; 0: the
 * call is to begin. @return the events to wait for; 0: all have ended. */
static int step_statements(struct hf_mysql_connection *connection, int events,
                           struct hf_instant now)
{
    for (;;) {
        int waits = step_call(connection, events);
        if (waits != 0) {
            return waits;
        }
        events = 0;
        if (connection->call != HF_MYSQL_STORE && !connection->has_failed) {
            connection->call = HF_MYSQL_STORE;
        } else if (deliver(connection, now)) {
            connection->call = HF_MYSQL_NEXT;
        } else {
            return 0;
        }
    }
}

/* Watch for the events it waits for. A step may have begun another. */
static void wait_for(struct hf_mysql_connection *connection, int waits)
{
    if (waits == 0 || connection->link.is_broken) {
        return;
    }
    connection->waits_for = waits;
    watch_socket(connection);
    hf_sql_link_want_output(&connection->link, (waits & MYSQL_WAIT_WRITE) != 0);
    if (connection->call == HF_MYSQL_CONNECT &&
        hf_mysql_target_wants_tls(connection->sql)) {
        hf_mysql_connection_break(connection, HF_CONFIG,
                                  HF_MYSQL_FILE_WANTS_TLS);
    }
}

void hf_mysql_connection_ask(struct hf_mysql_connection *connection,
                             const char *statements, size_t len,
                             struct hf_instant now)
{
    HF_ASSERT(connection->link.is_open && !connection->link.is_broken);
    HF_ASSERT(connection->call == HF_MYSQL_REST);
    connection->statements = statements;
    connection->statements_len = len;
    connection->call = HF_MYSQL_QUERY;
    connection->sent_at = now;
    wait_for(connection, step_statements(connection, 0, now));
}

bool hf_mysql_connection_is_dead(const struct hf_mysql_connection *connection)
{
    struct pollfd fd = {.fd = connection->link.watch.fd,
                        .events = POLLIN | POLLRDHUP};
    return fd.fd >= 0 && connection->call == HF_MYSQL_REST &&
           poll(&fd, 1, 0) > 0;
}

uint32_t hf_mysql_connection_id(const struct hf_mysql_connection *connection)
{
    return (uint32_t)mysql_thread_id(connection->sql);
}

/* ---- Opening ------------------------------------------------------------ */

static void begin_connect(struct hf_mysql_connection *connection,
                          const struct hf_address *at, struct hf_instant now)
{
    struct st_mysql *made = NULL;
    connection->call = HF_MYSQL_CONNECT;
    int waits = hf_mysql_target_connect(connection->target, connection->sql, at,
                                        &connection->login, &made);
    if (waits == 0) {
        end_connect(connection, made, now);
    }
    wait_for(connection, waits);
}

static void begin_dial(struct hf_mysql_connection *connection)
{
    connection->dial = hf_mysql_dial_start(connection->target, connection->sql,
                                           &connection->login,
                                           connection->link.reconnect.failures);
    if (connection->dial == NULL) {
        hf_mysql_connection_break(
            connection, errno == ENOMEM ? HF_NO_MEMORY : HF_UNAVAILABLE,
            hf_errno_text(errno));
        return;
    }
    connection->sql = NULL;
    hf_sql_link_watch(&connection->link, hf_mysql_dial_fd(connection->dial));
}

static void take_dial(struct hf_mysql_connection *connection,
                      struct hf_instant now)
{
    bool is_open, has_settings;
    if (!hf_mysql_dial_is_done(connection->dial)) {
        return;
    }
    hf_sql_link_unwatch(&connection->link);
    connection->sql =
        hf_mysql_dial_take(connection->dial, &is_open, &has_settings);
    hf_mysql_dial_drop(connection->dial);
    connection->dial = NULL;
    if (has_settings) {
        hf_mysql_connection_break(connection, HF_CONFIG,
                                  HF_MYSQL_FILE_SETS_TLS);
    } else if (!is_open) {
        fail(connection);
    } else {
        become_open(connection, now);
    }
}

static void connect_to(struct hf_mysql_connection *connection,
                       const struct hf_addresses *addresses,
                       struct hf_instant now)
{
    const struct hf_store_env *env = connection->link.env;
    struct hf_login login = {.node = 0, .address = connection->target->shown};
    const struct hf_address *at = NULL;
    if (addresses != NULL) {
        at = &addresses
                  ->list[connection->link.reconnect.failures % addresses->n];
    }
    if (env->login != NULL) {
        env->login(env->client, &login);
    }
    connection->login.user = login.user;
    connection->login.password = login.password;
    connection->sql =
        login.has_failed ? NULL : hf_mysql_target_new(connection->target);
    if (connection->sql == NULL) {
        hf_sql_link_starve(&connection->link);
    } else if (connection->target->tls != NULL) {
        begin_dial(connection);
    } else {
        begin_connect(connection, at, now);
    }
}

void hf_mysql_connection_start(struct hf_mysql_connection *connection,
                               struct hf_instant now)
{
    const struct hf_mysql_target *target = connection->target;
    struct hf_sql_link *link = &connection->link;
    HF_ASSERT(hf_mysql_connection_is_closed(connection));
    link->deadline = hf_instant_add(now, link->connect_timeout);
    if (target->host == NULL || target->tls != NULL) {
        connect_to(connection, NULL, now);
    } else if (hf_sql_link_look_up(link, target->host, target->port)) {
        connect_to(connection, &link->addresses, now);
    }
}

void hf_mysql_connection_late_text(const struct hf_mysql_connection *connection,
                                   struct hf_instant now, char *out,
                                   size_t size)
{
    enum hf_mysql_stage stage = connection->dial == NULL
                                    ? HF_MYSQL_STAGE_CONNECT
                                    : hf_mysql_dial_stage(connection->dial);
    long long ms = hf_sql_link_waited_ms(&connection->link, now);
    if (ms > 0 && stage == HF_MYSQL_STAGE_HANDSHAKE) {
        snprintf(out, size, "no answer to the TLS handshake within %lld ms",
                 ms);
    } else {
        hf_sql_link_late_text(&connection->link,
                              connection->link.is_open ||
                                  stage == HF_MYSQL_STAGE_GREETING,
                              now, out, size);
    }
}

/* ---- Events ------------------------------------------------------------- */

/* The awaited events that have come. After an error each call goes on. */
static int ready_of(const struct hf_mysql_connection *connection,
                    uint32_t events)
{
    int ready = 0;
    if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        ready |= MYSQL_WAIT_READ;
    }
    if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
        ready |= MYSQL_WAIT_WRITE;
    }
    return ready & connection->waits_for;
}

static void go_on(struct hf_mysql_connection *connection, uint32_t events,
                  struct hf_instant now)
{
    int ready = ready_of(connection, events);
    if (connection->link.resolve != NULL) {
        if (hf_sql_link_found(&connection->link)) {
            connect_to(connection, &connection->link.addresses, now);
        }
    } else if (connection->dial != NULL) {
        take_dial(connection, now);
    } else if (connection->call == HF_MYSQL_REST) {
        if (hf_mysql_connection_is_dead(connection)) {
            hf_mysql_connection_break(connection, HF_UNAVAILABLE,
                                      "the server has ended the session");
        }
    } else if (ready != 0) {
        wait_for(connection, connection->call == HF_MYSQL_CONNECT
                                 ? step_connect(connection, ready, now)
                                 : step_statements(connection, ready, now));
    }
}

static void on_ready(struct hf_watch *socket, uint32_t events,
                     struct hf_instant now)
{
    struct hf_mysql_connection *connection =
        (struct hf_mysql_connection *)(void *)socket;
    connection->events->check(connection);
    if (!connection->link.is_broken) {
        go_on(connection, events, now);
    }
    connection->events->settled(connection, now);
    connection->events->check(connection);
}

static void on_timer(struct hf_timer *timer, struct hf_instant now)
{
    struct hf_mysql_connection *connection =
        (struct hf_mysql_connection *)(void *)((char *)timer -
                                               offsetof(
                                                   struct hf_mysql_connection,
                                                   link.timer));
    bool is_opening =
        !connection->link.is_open && !hf_mysql_connection_is_closed(connection);
    if (!is_opening && !connection->link.is_broken) {
        connection->events->timed(connection, now);
    } else if (is_opening &&
               !hf_instant_before(now, connection->link.deadline)) {
        char why[HF_TEXT_CLAUSE];
        hf_mysql_connection_late_text(connection, now, why, sizeof(why));
        hf_mysql_connection_break(connection, HF_UNAVAILABLE, why);
    }
    connection->events->settled(connection, now);
    connection->events->check(connection);
}

/* ---- Life --------------------------------------------------------------- */

void hf_mysql_connection_init(struct hf_mysql_connection *connection,
                              const struct hf_mysql_connection_events *events,
                              const struct hf_store_env *env,
                              const struct hf_mysql_target *target,
                              struct hf_span connect_timeout)
{
    HF_ASSERT(events->opened != NULL && events->replied != NULL &&
              events->timed != NULL && events->settled != NULL &&
              events->check != NULL);
    hf_sql_link_init(&connection->link, env, connect_timeout, on_ready,
                     on_timer);
    connection->events = events;
    connection->target = target;
}

static int socket_of(const struct hf_mysql_connection *connection)
{
    return connection->sql == NULL ? -1
                                   : (int)mysql_get_socket(connection->sql);
}

/* mysql_close() says good-bye, and waits until that is written. Only a session
 * at rest may: its socket has room. */
static void silence(const struct hf_mysql_connection *connection)
{
    int fd = socket_of(connection);
    bool is_at_rest = connection->link.is_open && !connection->link.is_broken &&
                      connection->call == HF_MYSQL_REST;
    if (fd >= 0 && !is_at_rest) {
        shutdown(fd, SHUT_RDWR);
    }
}

void hf_mysql_connection_shut(struct hf_mysql_connection *connection)
{
    hf_sql_link_unwatch(&connection->link);
    hf_mysql_dial_drop(connection->dial);
    connection->dial = NULL;
    free_rows(connection);
    silence(connection);
    hf_mysql_target_close(connection->target, connection->sql);
    connection->sql = NULL;
    hf_mysql_login_fini(&connection->login);
    connection->call = HF_MYSQL_REST;
    hf_sql_link_shut(&connection->link);
}

void hf_mysql_connection_fini(struct hf_mysql_connection *connection,
                              bool is_forked)
{
    hf_loop_drop_timer(connection->link.env->loop, &connection->link.timer);
    if (is_forked) {
        hf_sql_link_disown(&connection->link, socket_of(connection));
        hf_mysql_dial_disown(connection->dial);
        connection->dial = NULL;
    }
    hf_mysql_connection_shut(connection);
}
