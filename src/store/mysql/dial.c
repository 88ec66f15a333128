/* SPDX-License-Identifier: Apache-2.0 */
/* THE THREAD THAT CONNECTS OVER TLS
 *
 * It makes the same calls as connection.c makes on the loop, and polls in
 * between. The part that blocks, from the server's greeting to the end of the
 * login, has no timeout: the deadline is the caller's, who drops the dial.
 *
 *     caller   start ───────────────────▶ drop: is_dropped, shutdown(keep)
 *     thread     └─▶ look-up ─▶ connect ─▶ greeting ─▶ handshake ─▶ login
 *
 * A drop must reach the socket, which only the thread may close. So the thread
 * keeps a duplicate, `keep`, whose number stays valid until both have left:
 * shutdown(2) there ends any read of the socket. libmariadb may replace its
 * socket, by that of the host's next address; after each wait the thread
 * renews the duplicate, and then looks at `is_dropped`. The caller sets it and
 * then shuts down, so one of the two sees the other.
 *
 * Why the password is safe: libmariadb checks the certificate and the host name
 * before it sends the user's name (target.c demands both). An option file could
 * switch that off. It is read by the first call, which returns before it has
 * sent anything, since a connect that may not wait is never done at once; then
 * the settings are compared with ours.
 *
 * Cost: a thread and two descriptors for each attempt to connect, none after
 * it. An attempt that follows a failed one looks the host up once more, and
 * opens a datagram socket for each of its addresses. */
#include "store/mysql/dial.h"

#include "base/assert.h"
#include "base/secret.h"
#include "io/detached.h"
#include "io/standard_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <mysql.h>
#include <netdb.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Shared by the thread and the caller; the last user frees it. */
struct hf_mysql_dial {
    atomic_int users;
    atomic_bool is_done;
    atomic_bool is_dropped;
    atomic_int stage;  /* enum hf_mysql_stage */
    atomic_int socket; /* libmariadb's, for a forked child; -1: none */
    int keep;          /* a duplicate of it; before, of /dev/null */
    int event_fd;
    unsigned turn, skips; /* addresses not to wait for */
    struct st_mysql *sql; /* NULL: taken */
    bool is_open, has_settings;
    struct hf_mysql_target target; /* its texts are copies */
    struct hf_mysql_login login;
};

/* ---- Memory ------------------------------------------------------------- */

static void free_dial(struct hf_mysql_dial *dial)
{
    if (dial->event_fd >= 0) {
        close(dial->event_fd);
    }
    if (dial->keep >= 0) {
        close(dial->keep);
    }
    hf_mysql_login_fini(&dial->login);
    hf_mysql_target_fini(&dial->target);
    free(dial);
}

static void leave(struct hf_mysql_dial *dial)
{
    int users = atomic_fetch_sub(&dial->users, 1);
    HF_ASSERT(users > 0);
    if (users == 1) {
        hf_mysql_target_close(&dial->target, dial->sql);
        free_dial(dial);
    }
}

/* ---- The thread --------------------------------------------------------- */

/** Renew the duplicate. @return false: the dial was dropped. */
static bool hold(struct hf_mysql_dial *dial)
{
    int fd = (int)mysql_get_socket(dial->sql);
    if (fd >= 0) {
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        dup3(fd, dial->keep, O_CLOEXEC);
    }
    atomic_store(&dial->socket, fd);
    return fd >= 0 && !atomic_load(&dial->is_dropped);
}

/** Wait for one of `waits`, MYSQL_WAIT_*. @return those that have come. */
static int wait_for(struct hf_mysql_dial *dial, int waits)
{
    bool connects = (waits & MYSQL_WAIT_WRITE) != 0;
    struct pollfd fd = {.fd = atomic_load(&dial->socket),
                        .events = connects ? POLLOUT : POLLIN};
    int n;
    atomic_store(&dial->stage,
                 connects ? HF_MYSQL_STAGE_CONNECT : HF_MYSQL_STAGE_GREETING);
    if (connects && dial->skips > 0) {
        dial->skips--;
        errno = ETIMEDOUT; /* for the message, if there is no other address */
        return MYSQL_WAIT_TIMEOUT;
    }
    do {
        n = poll(&fd, 1, -1);
    } while (n < 0 && errno == EINTR);
    /* Or the greeting, if that is not there yet: then it waits again. */
    atomic_store(&dial->stage, HF_MYSQL_STAGE_HANDSHAKE);
    return connects ? MYSQL_WAIT_WRITE : MYSQL_WAIT_READ;
}

/* From now on the loop calls. libmariadb reads and writes TLS until EAGAIN. */
static void set_nonblocking(struct st_mysql *sql)
{
    int fd = (int)mysql_get_socket(sql);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* connect(2) of libmariadb fails at once, without a wait, where there is no
 * route or no such family. That of a datagram sends nothing. */
static bool has_route(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return has;
}

/* libmariadb begins with the first address of the host, and goes on to the next
 * only if the connection is not made. One that is made and never answers, or
 * has the certificate of another host, would keep the others from being tried.
 * So each attempt passes over as many as have failed before; of those that can
 * be tried, since wait_for() sees no others. */
static unsigned count_skips(const struct hf_mysql_dial *dial)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    unsigned n = 0;
    if (dial->turn == 0 ||
        getaddrinfo(dial->target.host, NULL, &hints, &found) != 0) {
        return 0;
    }
    for (const struct addrinfo *at = found; at != NULL; at = at->ai_next) {
        n += has_route(at);
    }
    freeaddrinfo(found);
    return n == 0 ? 0 : dial->turn % n;
}

static void connect_all(struct hf_mysql_dial *dial)
{
    struct st_mysql *made = NULL;
    dial->skips = count_skips(dial);
    if (atomic_load(&dial->is_dropped)) {
        return; /* instead of a second look-up */
    }
    int waits = hf_mysql_target_connect(&dial->target, dial->sql, NULL,
                                        &dial->login, &made);
    dial->has_settings =
        waits != 0 && !hf_mysql_target_secures(&dial->target, dial->sql);
    while (waits != 0 && !dial->has_settings && hold(dial)) {
        waits =
            mysql_real_connect_cont(&made, dial->sql, wait_for(dial, waits));
    }
    dial->is_open = waits == 0 && made != NULL;
    if (dial->is_open) {
        set_nonblocking(dial->sql);
    }
}

/* SIGPIPE, which OpenSSL's writes may raise, is blocked and ends with the
 * thread. */
static void *run(void *arg)
{
    struct hf_mysql_dial *dial = arg;
    connect_all(dial);
    hf_mysql_login_fini(&dial->login);
    atomic_store(&dial->is_done, true);
    eventfd_write(dial->event_fd, 1);
    leave(dial);
    return NULL;
}

/* ---- Life --------------------------------------------------------------- */

static bool set_up(struct hf_mysql_dial *dial,
                   const struct hf_mysql_target *target)
{
    atomic_init(&dial->users, 2);
    atomic_init(&dial->socket, -1);
    dial->event_fd =
        hf_standard_fds_avoid(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    dial->keep = open("/dev/null", O_RDWR | O_CLOEXEC);
    return hf_mysql_target_copy(&dial->target, target) && dial->event_fd >= 0 &&
           dial->keep >= 0;
}

struct hf_mysql_dial *
hf_mysql_dial_start(const struct hf_mysql_target *target, struct st_mysql *sql,
                    struct hf_mysql_login *login, unsigned turn)
{
    struct hf_mysql_dial *dial = calloc(1, sizeof(*dial));
    if (dial == NULL) {
        return NULL;
    }
    int error = 0;
    dial->turn = turn;
    if (!set_up(dial, target)) {
        error = errno;
    } else {
        dial->sql = sql;
        dial->login = *login;
        error = hf_detached_start(run, dial);
    }
    if (error != 0) {
        memset(&dial->login, 0, sizeof(dial->login)); /* the caller's */
        free_dial(dial);
        errno = error;
        return NULL;
    }
    memset(login, 0, sizeof(*login));
    return dial;
}

int hf_mysql_dial_fd(const struct hf_mysql_dial *dial)
{
    return dial->event_fd;
}

bool hf_mysql_dial_is_done(const struct hf_mysql_dial *dial)
{
    return atomic_load(&dial->is_done);
}

enum hf_mysql_stage hf_mysql_dial_stage(const struct hf_mysql_dial *dial)
{
    return (enum hf_mysql_stage)atomic_load(&dial->stage);
}

struct st_mysql *hf_mysql_dial_take(struct hf_mysql_dial *dial, bool *is_open,
                                    bool *has_settings)
{
    struct st_mysql *sql = dial->sql;
    HF_ASSERT(atomic_load(&dial->is_done));
    *is_open = dial->is_open;
    *has_settings = dial->has_settings;
    dial->sql = NULL;
    return sql;
}

void hf_mysql_dial_drop(struct hf_mysql_dial *dial)
{
    if (dial != NULL) {
        if (!atomic_load(&dial->is_done)) {
            atomic_store(&dial->is_dropped, true);
            shutdown(dial->keep, SHUT_RDWR);
        }
        leave(dial);
    }
}

/* The number that the thread has noted may be another file's by now: only a
 * file that is that of `keep` is given up. */
void hf_mysql_dial_disown(struct hf_mysql_dial *dial)
{
    struct stat kept;
    struct stat noted;
    int fd = dial == NULL ? -1 : atomic_load(&dial->socket);
    if (fd >= 0 && fstat(dial->keep, &kept) == 0 && fstat(fd, &noted) == 0 &&
        kept.st_dev == noted.st_dev && kept.st_ino == noted.st_ino) {
        close(fd);
    }
    if (dial != NULL) {
        close(dial->keep);
        close(dial->event_fd);
    }
}
