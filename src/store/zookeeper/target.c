/* SPDX-License-Identifier: Apache-2.0 */
/* zookeeper://[USER[:PASSWORD]@]HOST[:PORT],HOST,…[/CHROOT] */
#include "base/fail.h"
#include "base/secret.h"
#include "store/url_parts.h"
#include "store/zookeeper/zookeeper.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of one address in the library's list. */
#define ADDRESS_MAX 64

static enum hf_status refuse_address(struct hf_error *error)
{
    return hf_fail(error, HF_INVALID,
                   "not a ZooKeeper URL: write zookeeper://HOST:PORT,"
                   "HOST:PORT,.../CHROOT with up to %d servers of one "
                   "ensemble (%s)",
                   HF_ZK_SERVERS_MAX, HF_URL_ESCAPE_HINT);
}

static enum hf_status read_server(struct hf_zk *zk, struct hf_piece at,
                                  struct hf_error *error)
{
    struct hf_zk_server *server = &zk->servers[zk->n_servers];
    struct hf_piece host;
    server->port = HF_ZK_PORT_DEFAULT;
    if (!hf_piece_host(at, &host, &server->port) || host.len == 0) {
        return refuse_address(error);
    }
    enum hf_status status =
        hf_piece_decode(host, "the host", &server->host, error);
    if (status == HF_OK) {
        bool is_ipv6 = strchr(server->host, ':') != NULL;
        snprintf(server->shown, sizeof(server->shown),
                 is_ipv6 ? "[%.100s]:%u" : "%.100s:%u", server->host,
                 (unsigned)server->port);
        hf_make_plain(server->shown);
        zk->n_servers++;
    }
    return status;
}

/* USER:PASSWORD, or USER where the password comes from elsewhere. */
static enum hf_status read_login(struct hf_zk *zk, struct hf_piece login,
                                 const struct hf_url *url,
                                 struct hf_error *error)
{
    bool has_password;
    struct hf_piece user = hf_piece_cut(&login, ':', &has_password);
    enum hf_status status = HF_OK;
    if (user.len > 0) {
        status = hf_piece_decode(user, "the user", &zk->user, error);
    }
    if (status == HF_OK && has_password && url->password == NULL) {
        status = hf_piece_decode(login, "the password", &zk->password, error);
    }
    return status;
}

/* A callback supplies another password, and may supply a user. */
static enum hf_status check_login(struct hf_zk *zk, const struct hf_url *url,
                                  struct hf_error *error)
{
    if (zk->ordered.env.login != NULL) {
        return HF_OK;
    }
    if (url->password != NULL) {
        zk->password = strdup(url->password);
        if (zk->password == NULL) {
            return hf_fail_memory(error);
        }
    }
    if (zk->user == NULL && zk->password != NULL) {
        return hf_fail(error, HF_INVALID,
                       "a password needs a user: write zookeeper://USER@HOST");
    }
    if (zk->user != NULL && zk->password == NULL) {
        return hf_fail(error, HF_INVALID,
                       "user %.60s needs a password: write "
                       "zookeeper://USER:PASSWORD@HOST, or name a file with "
                       "HOLDFAST_PASSWORD_FILE",
                       zk->user);
    }
    return HF_OK;
}

/* "/CHROOT", without slashes at its end. */
static enum hf_status read_chroot(struct hf_zk *zk, struct hf_piece path,
                                  struct hf_error *error)
{
    char *text = NULL;
    while (path.len > 0 && path.at[path.len - 1] == '/') {
        path.len--;
    }
    enum hf_status status = hf_piece_decode(path, "the chroot", &text, error);
    if (status != HF_OK) {
        return status;
    }
    size_t size = strlen(text) + 2;
    zk->chroot = malloc(size);
    if (zk->chroot != NULL) {
        snprintf(zk->chroot, size, text[0] == '\0' ? "%s" : "/%s", text);
    }
    free(text);
    return zk->chroot == NULL ? hf_fail_memory(error) : HF_OK;
}

/* //[USER[:PASSWORD]@]HOST,…[/CHROOT] */
static enum hf_status read_address(struct hf_zk *zk, const struct hf_url *url,
                                   struct hf_error *error)
{
    struct hf_piece rest = {url->address, strlen(url->address)};
    bool has_more = true;
    bool has_login, has_path;
    if (strncmp(url->address, "//", 2) != 0) {
        return refuse_address(error);
    }
    rest.at += 2;
    rest.len -= 2;
    struct hf_piece authority = hf_piece_cut(&rest, '/', &has_path);
    struct hf_piece hosts = authority;
    struct hf_piece login = hf_piece_cut(&hosts, '@', &has_login);
    if (hf_piece_has(rest, '@') || (has_login && hf_piece_has(hosts, '@'))) {
        return refuse_address(error); /* else a password would be shown */
    }
    enum hf_status status =
        has_login ? read_login(zk, login, url, error) : HF_OK;
    if (status == HF_OK) {
        status = check_login(zk, url, error);
    }
    hosts = has_login ? hosts : authority;
    while (status == HF_OK && has_more) {
        if (zk->n_servers == HF_ZK_SERVERS_MAX) {
            return refuse_address(error);
        }
        status = read_server(zk, hf_piece_cut(&hosts, ',', &has_more), error);
    }
    return status == HF_OK ? read_chroot(zk, rest, error) : status;
}

static enum hf_status make_base(struct hf_zk *zk, const struct hf_url *url,
                                struct hf_error *error)
{
    const char *prefix = url->prefix;
    while (*prefix == '/') {
        prefix++;
    }
    size_t size = strlen(zk->chroot) + strlen(prefix) + 2;
    zk->base = malloc(size);
    if (zk->base == NULL) {
        return hf_fail_memory(error);
    }
    snprintf(zk->base, size, "%s/%s", zk->chroot, prefix);
    return HF_OK;
}

enum hf_status hf_zk_target_read(struct hf_zk *zk, const struct hf_url *url,
                                 struct hf_error *error)
{
    enum hf_status status = hf_url_refuse_options(url, error);
    if (status == HF_OK) {
        status = hf_url_refuse_tls(url, NULL, error);
    }
    if (status == HF_OK) {
        status = read_address(zk, url, error);
    }
    return status == HF_OK ? make_base(zk, url, error) : status;
}

/* ---- The login ----------------------------------------------------------- */

static void join_login(struct hf_zk *zk, const char *user, const char *password)
{
    size_t size = strlen(user) + strlen(password) + 2;
    zk->login = malloc(size);
    if (zk->login != NULL) {
        snprintf(zk->login, size, "%s:%s", user, password);
    }
}

void hf_zk_target_login(struct hf_zk *zk)
{
    const struct hf_store_env *env = &zk->ordered.env;
    struct hf_login login = {.address = zk->servers[0].shown};
    hf_secret_free(zk->login);
    zk->login = NULL;
    if (env->login != NULL) {
        env->login(env->client, &login);
    }
    const char *user = login.user != NULL ? login.user : zk->user;
    const char *password =
        login.password != NULL ? login.password : zk->password;
    if (user != NULL && password != NULL) {
        join_login(zk, user, password);
    }
    free(login.user);
    hf_secret_free(login.password);
}

/* ---- Addresses ----------------------------------------------------------- */

static size_t print_address(const struct hf_address *address, char *out,
                            size_t size)
{
    char host[INET6_ADDRSTRLEN];
    const struct sockaddr *any = (const struct sockaddr *)&address->sockaddr;
    int n = 0;
    if (any->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six =
            (const struct sockaddr_in6 *)(const void *)any;
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host));
        n = snprintf(out, size, "[%s]:%u", host,
                     (unsigned)ntohs(six->sin6_port));
    } else {
        const struct sockaddr_in *four =
            (const struct sockaddr_in *)(const void *)any;
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
        n = snprintf(out, size, "%s:%u", host, (unsigned)ntohs(four->sin_port));
    }
    return (size_t)n;
}

bool hf_zk_target_list(struct hf_zk *zk)
{
    size_t size = (size_t)HF_ZK_SERVERS_MAX * HF_ADDRESSES_MAX * ADDRESS_MAX;
    size_t len = 0;
    char *hosts = malloc(size);
    if (hosts == NULL) {
        return false;
    }
    zk->n_addresses = 0;
    for (unsigned i = 0; i < zk->n_servers; i++) {
        const struct hf_addresses *addresses = &zk->servers[i].addresses;
        for (unsigned k = 0; k < addresses->n; k++) {
            if (len > 0) {
                hosts[len++] = ',';
            }
            len += print_address(&addresses->list[k], hosts + len, size - len);
            zk->n_addresses++;
        }
    }
    hosts[len] = '\0';
    free(zk->hosts);
    zk->hosts = hosts;
    return true;
}

void hf_zk_target_free(struct hf_zk *zk)
{
    for (unsigned i = 0; i < HF_ZK_SERVERS_MAX; i++) {
        free(zk->servers[i].host);
    }
    free(zk->hosts);
    free(zk->chroot);
    free(zk->base);
    free(zk->user);
    hf_secret_free(zk->password);
    hf_secret_free(zk->login);
}
