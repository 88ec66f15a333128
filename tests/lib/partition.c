/* SPDX-License-Identifier: Apache-2.0 */
/* partition: the network between servers of one cluster, of which parts can be
 * cut. It needs no privilege: members reach each other through it, on loopback.
 * Each line of the standard input is a command, answered by "ok"; it ends with
 * its input.
 *
 *   member NAME [PID]
 *       a server; PID for streams whose opener is not known
 *   stream FROM TO LISTEN TARGET
 *       FROM connects to LISTEN in place of TARGET, which is TO's. FROM "?":
 *       the member whose process connects
 *   datagram NAME FRONT BACK
 *       UDP: others send to FRONT, the server has BACK
 *   rewrite OLD NEW
 *       in the first bytes of a stream, this address to that
 *   cut FROM TO
 *       nothing passes in this direction
 *   heal
 *       all passes again
 *
 * An address is HOST:PORT, or the path of a unix socket.
 *
 * A cut is silent, as when packets are dropped. Connections stay open, and an
 * end of one is not seen at the other side. What was written is held back and
 * comes after the heal, as when TCP repeats it. A new connection is open for
 * its opener, gets no answer and reaches nothing before both directions pass.
 * So it is while its target does not listen: an end would look like that of a
 * server that was reached, not like a refusal. Datagrams are lost. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Servers of a cluster: three, as a test has them, and some more. */
#define MEMBERS_MAX 5
/* Each member to each, at two ports. */
#define DOORS_MAX (2 * MEMBERS_MAX * MEMBERS_MAX)
/* A member that is cut off tries again some times a second, for a minute. */
#define LINKS_MAX 400
/* A read of a stream; the kernel holds what comes after it. */
#define PIECE_BYTES 16384

/* The largest datagram. */
#define DATAGRAM_BYTES 65536

#define LINE_BYTES 512 /* of a command, or of /proc/net/tcp (150) */

/* Until a target that did not listen is tried again: less than any timeout. */
#define CONNECT_AGAIN_MS 50

/* Of /proc/net/tcp, from the local address on. */
#define FIELDS_TO_INODE 8

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_un un;
    } to;
    socklen_t len;
};

struct member {
    char name[16];
    long pid;
    bool cut[MEMBERS_MAX]; /* nothing passes to that one */
    int datagrams;         /* the socket of FRONT, or -1 */
    struct address back;
};

/* Where connections are accepted. */
struct door {
    int fd;
    int from; /* a member, or -1 */
    int to;
    struct address target;
};

struct way {
    char data[PIECE_BYTES];
    size_t at;
    size_t len;
    bool has_begun; /* something was read */
    bool has_ended; /* nothing more is read */
    bool is_told;   /* ... and the other side knows */
    bool is_lost;   /* nothing can be written: what is read is dropped */
};

/* A connection: side 0 has opened it. ways[i] has been read at fd[i]. */
struct link {
    int fd[2];
    int member[2];
    struct way ways[2];
    const struct door *door;
};

struct rewrite {
    char old[INET_ADDRSTRLEN];
    char new[INET_ADDRSTRLEN];
};

static struct member members[MEMBERS_MAX];
static struct rewrite rewrites[MEMBERS_MAX];
static int n_rewrites;
static struct door doors[DOORS_MAX];
static struct link *links[LINKS_MAX];
static int n_members;
static int n_doors;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "partition: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int member_of(const char *name)
{
    for (int i = 0; i < n_members; i++) {
        if (strcmp(members[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static struct address address_of(const char *text)
{
    struct address address = {.len = sizeof(address.to.un)};
    const char *colon = strrchr(text, ':');
    char host[INET_ADDRSTRLEN] = "";
    if (strchr(text, '/') != NULL) {
        address.to.un.sun_family = AF_UNIX;
        snprintf(address.to.un.sun_path, sizeof(address.to.un.sun_path), "%s",
                 text);
        return address;
    }
    if (colon == NULL || (size_t)(colon - text) >= sizeof(host)) {
        fail(text);
    }
    memcpy(host, text, (size_t)(colon - text));
    address.len = sizeof(address.to.in);
    address.to.in.sin_family = AF_INET;
    if (inet_pton(AF_INET, host, &address.to.in.sin_addr) != 1) {
        fail(text);
    }
    address.to.in.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    return address;
}

static int socket_at(const struct address *address, int type)
{
    int one = 1;
    int fd = socket(address->to.any.sa_family,
                    type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, &address->to.any, address->len) == 0) {
        return fd;
    }
    close(fd);
    return -1;
}

/* ---- Commands ---------------------------------------------------------- */

static bool member_add(const char *name, long pid)
{
    int i = member_of(name);
    if (i >= 0) {
        members[i].pid = pid;
        return true;
    }
    if (n_members == MEMBERS_MAX) {
        return false;
    }
    members[n_members] = (struct member){.pid = pid, .datagrams = -1};
    snprintf(members[n_members].name, sizeof(members->name), "%s", name);
    n_members++;
    return true;
}

static bool door_add(const char *from, const char *to, const char *here,
                     const char *target)
{
    struct address address = address_of(here);
    struct door door = {.from = member_of(from),
                        .to = member_of(to),
                        .target = address_of(target)};
    if (n_doors == DOORS_MAX || door.to < 0 ||
        (door.from < 0 && strcmp(from, "?") != 0)) {
        return false;
    }
    door.fd = socket_at(&address, SOCK_STREAM);
    if (door.fd < 0 || listen(door.fd, SOMAXCONN) != 0) {
        fail(here);
    }
    doors[n_doors++] = door;
    return true;
}

static bool datagrams_add(const char *name, const char *front, const char *back)
{
    struct address address = address_of(front);
    int i = member_of(name);
    if (i < 0) {
        return false;
    }
    members[i].back = address_of(back);
    members[i].datagrams = socket_at(&address, SOCK_DGRAM);
    if (members[i].datagrams < 0) {
        fail(front);
    }
    return true;
}

static bool rewrite_add(const char *old, const char *new)
{
    if (n_rewrites == MEMBERS_MAX || strlen(old) != strlen(new)) {
        return false;
    }
    struct rewrite *added = &rewrites[n_rewrites++];
    snprintf(added->old, sizeof(added->old), "%s", old);
    snprintf(added->new, sizeof(added->new), "%s", new);
    return true;
}

static bool cut_add(const char *from, const char *to)
{
    int i = member_of(from);
    int k = member_of(to);
    if (i < 0 || k < 0) {
        return false;
    }
    members[i].cut[k] = true;
    return true;
}

static bool heal(void)
{
    for (int i = 0; i < MEMBERS_MAX * MEMBERS_MAX; i++) {
        members[i / MEMBERS_MAX].cut[i % MEMBERS_MAX] = false;
    }
    return true;
}

static bool obey(char *line)
{
    char none[] = "";
    char *words[5] = {none, none, none, none, none};
    int n = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " ", &rest); word != NULL && n < 5;
         word = strtok_r(NULL, " ", &rest)) {
        words[n++] = word;
    }
    if (strcmp(words[0], "member") == 0) {
        return member_add(words[1], strtol(words[2], NULL, 10));
    }
    if (strcmp(words[0], "stream") == 0 && n == 5) {
        return door_add(words[1], words[2], words[3], words[4]);
    }
    if (strcmp(words[0], "datagram") == 0 && n == 4) {
        return datagrams_add(words[1], words[2], words[3]);
    }
    if (strcmp(words[0], "rewrite") == 0) {
        return rewrite_add(words[1], words[2]);
    }
    if (strcmp(words[0], "cut") == 0) {
        return cut_add(words[1], words[2]);
    }
    return strcmp(words[0], "heal") == 0 && heal();
}

static void commands_read(void)
{
    static char lines[LINE_BYTES];
    static size_t n_lines;
    char *end;
    ssize_t n =
        read(STDIN_FILENO, lines + n_lines, sizeof(lines) - 1 - n_lines);
    if (n <= 0) {
        exit(0);
    }
    n_lines += (size_t)n;
    lines[n_lines] = '\0';
    while ((end = strchr(lines, '\n')) != NULL) {
        *end = '\0';
        puts(obey(lines) ? "ok" : "no");
        fflush(stdout);
        n_lines -= (size_t)(end + 1 - lines);
        memmove(lines, end + 1, n_lines + 1);
    }
}

/* ---- The member that has opened a connection --------------------------- */

/* The inode of the socket here that is connected from FROM to TO, or 0. */
static unsigned long inode_of(const struct sockaddr_in *from,
                              const struct sockaddr_in *to)
{
    char line[LINE_BYTES];
    char want[64];
    unsigned long inode = 0;
    FILE *table = fopen("/proc/net/tcp", "re");
    snprintf(want, sizeof(want), " %08X:%04X %08X:%04X ", from->sin_addr.s_addr,
             ntohs(from->sin_port), to->sin_addr.s_addr, ntohs(to->sin_port));
    while (inode == 0 && table != NULL &&
           fgets(line, sizeof(line), table) != NULL) {
        const char *field = strstr(line, want);
        for (int i = 0; field != NULL && i < FIELDS_TO_INODE; i++) {
            field += strspn(field, " ");
            field += strcspn(field, " ");
        }
        inode = field != NULL ? strtoul(field, NULL, 10) : 0;
    }
    return table != NULL && fclose(table) == 0 ? inode : 0;
}

static bool process_has(long pid, unsigned long inode)
{
    char path[64];
    char want[64];
    char link[64];
    bool has = false;
    struct dirent *entry;
    snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
    snprintf(want, sizeof(want), "socket:[%lu]", inode);
    DIR *folder = opendir(path);
    while (folder != NULL && !has && (entry = readdir(folder)) != NULL) {
        ssize_t n =
            readlinkat(dirfd(folder), entry->d_name, link, sizeof(link) - 1);
        link[n > 0 ? n : 0] = '\0';
        has = strcmp(link, want) == 0;
    }
    return folder != NULL && closedir(folder) == 0 && has;
}

static int opener_of(int fd)
{
    struct sockaddr_in from = {.sin_port = 0};
    struct sockaddr_in to = {.sin_port = 0};
    socklen_t len = sizeof(from);
    getpeername(fd, (struct sockaddr *)(void *)&from, &len);
    len = sizeof(to);
    getsockname(fd, (struct sockaddr *)(void *)&to, &len);
    unsigned long inode = inode_of(&from, &to);
    for (int i = 0; inode != 0 && i < n_members; i++) {
        if (process_has(members[i].pid, inode)) {
            return i;
        }
    }
    return -1;
}

/* ---- Streams ----------------------------------------------------------- */

static void fd_close(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

static void fd_prepare(int fd)
{
    int one = 1; /* refused by a unix socket */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    fcntl(fd, F_SETFL, O_NONBLOCK);
}

static bool is_cut(const struct link *link, int side)
{
    return members[link->member[side]].cut[link->member[!side]];
}

static void link_open(const struct door *door)
{
    int fd = accept4(door->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int from = fd >= 0 && door->from < 0 ? opener_of(fd) : door->from;
    int i = 0;
    while (i < LINKS_MAX && links[i] != NULL) {
        i++;
    }
    struct link *link =
        fd >= 0 && from >= 0 && i < LINKS_MAX ? calloc(1, sizeof(*link)) : NULL;
    if (link == NULL) {
        fd_close(fd);
        return;
    }
    fd_prepare(fd);
    link->fd[0] = fd;
    link->fd[1] = -1;
    link->member[0] = from;
    link->member[1] = door->to;
    link->door = door;
    links[i] = link;
}

static void link_close(int i)
{
    fd_close(links[i]->fd[0]);
    fd_close(links[i]->fd[1]);
    free(links[i]);
    links[i] = NULL;
}

/* @return false: it does not listen. */
static bool link_connect(struct link *link)
{
    const struct address *target = &link->door->target;
    int fd = socket(target->to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, &target->to.any, target->len) != 0) {
        fd_close(fd);
        return false;
    }
    fd_prepare(fd);
    link->fd[1] = fd;
    return true;
}

static void way_rewrite(struct way *way)
{
    for (int i = 0; i < n_rewrites; i++) {
        size_t len = strlen(rewrites[i].old);
        char *found = memmem(way->data, way->len, rewrites[i].old, len);
        if (found != NULL) {
            memcpy(found, rewrites[i].new, len);
        }
    }
}

static void way_read(struct link *link, int side)
{
    struct way *way = &link->ways[side];
    ssize_t n = read(link->fd[side], way->data, sizeof(way->data));
    way->at = 0;
    way->len = n > 0 && !way->is_lost ? (size_t)n : 0;
    way->has_ended = n == 0 || (n < 0 && errno != EAGAIN);
    if (side == 0 && !way->has_begun && way->len > 0) {
        way->has_begun = true;
        way_rewrite(way);
    }
}

static void way_write(struct link *link, int side)
{
    struct way *way = &link->ways[side];
    while (way->at < way->len) {
        ssize_t n = send(link->fd[!side], way->data + way->at,
                         way->len - way->at, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            return;
        }
        way->is_lost = way->is_lost || n < 0;
        way->at = n < 0 ? way->len : way->at + (size_t)n;
    }
    if (way->has_ended && !way->is_told) {
        shutdown(link->fd[!side], SHUT_WR);
        way->is_told = true;
    }
}

/* What to poll for at a side. */
static short interest(const struct link *link, int side)
{
    const struct way *in = &link->ways[side];
    const struct way *out = &link->ways[!side];
    bool reads = !is_cut(link, side) && in->at == in->len && !in->has_ended;
    bool writes = !is_cut(link, !side) && out->at < out->len;
    if (link->fd[1] < 0) { /* its opener may give up */
        return side == 0 ? POLLRDHUP : 0;
    }
    return (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
}

/* @return false: it is over. */
static bool link_carry(struct link *link, const struct pollfd *polled)
{
    if (link->fd[1] < 0) {
        return polled->revents == 0;
    }
    for (int side = 0; side < 2; side++) {
        if (is_cut(link, side)) {
            continue;
        }
        if ((interest(link, side) & POLLIN) != 0 && polled[side].revents != 0) {
            way_read(link, side);
        }
        way_write(link, side);
    }
    return !link->ways[0].is_told || !link->ways[1].is_told;
}

/* ---- Datagrams --------------------------------------------------------- */

/* One for TO: it comes from its sender's FRONT. */
static void datagram_carry(int to)
{
    static char data[DATAGRAM_BYTES];
    struct address sender = {.len = sizeof(sender.to.in)};
    ssize_t n = recvfrom(members[to].datagrams, data, sizeof(data), 0,
                         &sender.to.any, &sender.len);
    for (int i = 0; n >= 0 && i < n_members; i++) {
        if (members[i].datagrams >= 0 && !members[i].cut[to] &&
            memcmp(&members[i].back.to.in, &sender.to.in,
                   sizeof(sender.to.in)) == 0) {
            sendto(members[i].datagrams, data, (size_t)n, 0,
                   &members[to].back.to.any, members[to].back.len);
        }
    }
}

/* ---- All of it --------------------------------------------------------- */

static struct pollfd fds[1 + DOORS_MAX + MEMBERS_MAX + 2 * LINKS_MAX];
static struct pollfd *const of_doors = fds + 1;
static struct pollfd *const of_members = fds + 1 + DOORS_MAX;
static struct pollfd *const of_links = fds + 1 + DOORS_MAX + MEMBERS_MAX;

/* What waits for a heal reaches its target now, if it may.
 * @return the timeout for poll(). */
static int links_connect(void)
{
    int timeout = -1;
    for (int i = 0; i < LINKS_MAX; i++) {
        if (links[i] != NULL && links[i]->fd[1] < 0 && !is_cut(links[i], 0) &&
            !is_cut(links[i], 1) && !link_connect(links[i])) {
            timeout = CONNECT_AGAIN_MS;
        }
    }
    return timeout;
}

static void fds_fill(void)
{
    fds[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    for (int i = 0; i < DOORS_MAX; i++) {
        of_doors[i] = (struct pollfd){.fd = i < n_doors ? doors[i].fd : -1,
                                      .events = POLLIN};
    }
    for (int i = 0; i < MEMBERS_MAX; i++) {
        of_members[i] = (struct pollfd){
            .fd = i < n_members ? members[i].datagrams : -1, .events = POLLIN};
    }
    for (int i = 0; i < 2 * LINKS_MAX; i++) {
        const struct link *link = links[i / 2];
        short events = link != NULL ? interest(link, i % 2) : 0;
        of_links[i] = (struct pollfd){.fd = events != 0 ? link->fd[i % 2] : -1,
                                      .events = events};
    }
}

static void turn(void)
{
    int timeout = links_connect();
    fds_fill();
    if (poll(fds, sizeof(fds) / sizeof(*fds), timeout) < 0) {
        return;
    }
    for (int i = 0; i < LINKS_MAX; i++) {
        if (links[i] != NULL && !link_carry(links[i], &of_links[2 * i])) {
            link_close(i);
        }
    }
    for (int i = 0; i < n_members; i++) {
        if (of_members[i].revents != 0) {
            datagram_carry(i);
        }
    }
    for (int i = 0; i < n_doors; i++) {
        if (of_doors[i].revents != 0) {
            link_open(&doors[i]);
        }
    }
    if (fds[0].revents != 0) {
        commands_read();
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        turn();
    }
}
