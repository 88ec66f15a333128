/* SPDX-License-Identifier: Apache-2.0 */
/* A look-up is shared by its thread and its caller, and the last of the two
 * frees it: a caller that drops it does not wait for getaddrinfo(), which goes
 * on and then finds itself alone. The result is written before `is_done` is
 * set, and that before the eventfd is signalled: a caller that was woken sees
 * it complete.
 *
 * Cost: a thread and an eventfd for each look-up of a name; nothing for a
 * numeric address. */
#include "io/resolve.h"

#include "base/assert.h"
#include "base/text_size.h"
#include "io/detached.h"
#include "io/standard_fds.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Shared by the thread and the caller; the last user frees it. */
struct hf_resolve {
    atomic_int users;
    atomic_bool is_done;
    int event_fd;
    uint16_t port;
    int error; /* EAI_*, 0 */
    struct hf_addresses found;
    char host[];
};

static void add_ipv4(struct hf_addresses *out, struct in_addr addr,
                     uint16_t port)
{
    struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = addr};
    HF_ASSERT(out->n < HF_ADDRESSES_MAX);
    struct hf_address *at = &out->list[out->n++];
    memset(at, 0, sizeof(*at));
    memcpy(&at->sockaddr, &in, sizeof(in));
    at->len = sizeof(in);
}

static void add_ipv6(struct hf_addresses *out, struct in6_addr addr,
                     uint16_t port)
{
    struct sockaddr_in6 in = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = addr};
    HF_ASSERT(out->n < HF_ADDRESSES_MAX);
    struct hf_address *at = &out->list[out->n++];
    memset(at, 0, sizeof(*at));
    memcpy(&at->sockaddr, &in, sizeof(in));
    at->len = sizeof(in);
}

static int look_up(const char *host, uint16_t port, int flags,
                   struct hf_addresses *out)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = flags | AI_NUMERICSERV};
    char service[HF_TEXT_SHORT];
    snprintf(service, sizeof(service), "%u", (unsigned)port);
    struct addrinfo *found = NULL;
    out->n = 0;
    int error = getaddrinfo(host, service, &hints, &found);
    if (error != 0) {
        return error;
    }
    for (struct addrinfo *at = found; at != NULL && out->n < HF_ADDRESSES_MAX;
         at = at->ai_next) {
        struct hf_address *to = &out->list[out->n];
        if (at->ai_addrlen <= sizeof(to->sockaddr)) {
            memset(to, 0, sizeof(*to));
            memcpy(&to->sockaddr, at->ai_addr, at->ai_addrlen);
            to->len = at->ai_addrlen;
            out->n++;
        }
    }
    freeaddrinfo(found);
    return out->n > 0 ? 0 : EAI_NONAME;
}

bool hf_resolve_numeric(const char *host, uint16_t port,
                        struct hf_addresses *out)
{
    struct in_addr ipv4;
    struct in6_addr ipv6;
    out->n = 0;
    if (inet_pton(AF_INET, host, &ipv4) == 1) {
        add_ipv4(out, ipv4, port);
    } else if (inet_pton(AF_INET6, host, &ipv6) == 1) {
        add_ipv6(out, ipv6, port);
    } else if (strcasecmp(host, "localhost") == 0) { /* RFC 6761, 6.3 */
        add_ipv4(out, (struct in_addr){htonl(INADDR_LOOPBACK)}, port);
        add_ipv6(out, in6addr_loopback, port);
    } else if (strchr(host, '%') != NULL) { /* fe80::1%eth0 */
        return look_up(host, port, AI_NUMERICHOST, out) == 0;
    }
    return out->n > 0;
}

static void leave(struct hf_resolve *resolve)
{
    int users = atomic_fetch_sub(&resolve->users, 1);
    HF_ASSERT(users > 0);
    if (users == 1) {
        close(resolve->event_fd);
        free(resolve);
    }
}

static void *run(void *arg)
{
    struct hf_resolve *resolve = arg;
    resolve->error =
        look_up(resolve->host, resolve->port, AI_ADDRCONFIG, &resolve->found);
    atomic_store(&resolve->is_done, true);
    eventfd_write(resolve->event_fd, 1);
    leave(resolve);
    return NULL;
}

struct hf_resolve *hf_resolve_start(const char *host, uint16_t port)
{
    size_t len = strlen(host) + 1;
    struct hf_resolve *resolve = calloc(1, sizeof(*resolve) + len);
    if (resolve == NULL) {
        return NULL;
    }
    memcpy(resolve->host, host, len);
    resolve->port = port;
    atomic_init(&resolve->users, 2);
    resolve->event_fd =
        hf_standard_fds_avoid(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (resolve->event_fd < 0) {
        free(resolve);
        return NULL;
    }
    int error = hf_detached_start(run, resolve);
    if (error != 0) {
        close(resolve->event_fd);
        free(resolve);
        errno = error;
        return NULL;
    }
    return resolve;
}

int hf_resolve_fd(const struct hf_resolve *resolve)
{
    return resolve->event_fd;
}

bool hf_resolve_take(struct hf_resolve *resolve, struct hf_addresses *out,
                     char *reason, size_t reason_size)
{
    reason[0] = '\0';
    if (!atomic_load(&resolve->is_done)) {
        return false;
    }
    if (resolve->error != 0) {
        snprintf(reason, reason_size, "cannot find the host: %s",
                 gai_strerror(resolve->error));
        return false;
    }
    HF_ASSERT(resolve->found.n > 0); /* else there was an error */
    *out = resolve->found;
    return true;
}

void hf_resolve_drop(struct hf_resolve *resolve)
{
    if (resolve != NULL) {
        leave(resolve);
    }
}
