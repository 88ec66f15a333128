/* SPDX-License-Identifier: Apache-2.0 */
/* zookeeper://[USER[:PASSWORD]@]HOST[:PORT],HOST,…[/CHROOT] */
#include "base/fail.h"
#include "base/secret.h"
#include "store/url_parts.h"
#include "store/zookeeper/zookeeper.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the client library, as registered. */
#define PORT_DEFAULT 2181

/* Bytes of one address in the library's list, with the interface of an address
 * of IPv6 that has one; and those of its port. */
#define ADDRESS_MAX 80
#define PORT_MAX 8

static const char usage[] = HF_WIRE_USAGE(
    "a ZooKeeper URL", "zookeeper://HOST:PORT,HOST:PORT,.../CHROOT",
    "servers of one ensemble");

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

static enum hf_status read_address(struct hf_zk *zk, const struct hf_url *url,
                                   struct hf_error *error)
{
    struct hf_wire_address address;
    if (!hf_wire_address_cut(url->address, &address)) {
        return hf_fail(error, HF_INVALID, "%s", usage);
    }
    enum hf_status status =
        hf_wire_login_read(&zk->url_login, &address, url,
                           zk->ordered.env.login != NULL, "zookeeper", error);
    if (status == HF_OK) {
        status = hf_wire_hosts_read(zk->servers, &zk->n_servers, address.hosts,
                                    PORT_DEFAULT, usage, error);
    }
    return status == HF_OK ? read_chroot(zk, address.path, error) : status;
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
    const char *user = login.user != NULL ? login.user : zk->url_login.user;
    const char *password =
        login.password != NULL ? login.password : zk->url_login.password;
    if (user != NULL && password != NULL) {
        join_login(zk, user, password);
    }
    free(login.user);
    hf_secret_free(login.password);
}

/* ---- Addresses ----------------------------------------------------------- */

/* The library takes what is behind the last colon for the port, and brackets
 * for a part of the host. */
static size_t print_address(const struct hf_address *address, char *out,
                            size_t size)
{
    char host[ADDRESS_MAX - PORT_MAX], port[PORT_MAX];
    if (getnameinfo((const struct sockaddr *)&address->sockaddr, address->len,
                    host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return 0;
    }
    return (size_t)snprintf(out, size, "%s:%s", host, port);
}

void hf_zk_target_list(struct hf_zk *zk)
{
    size_t size = (size_t)HF_WIRE_HOSTS_MAX * HF_ADDRESSES_MAX * ADDRESS_MAX;
    size_t len = 0;
    char *hosts = malloc(size);
    if (hosts == NULL) {
        return;
    }
    unsigned count = 0;
    for (unsigned i = 0; i < zk->n_servers; i++) {
        const struct hf_addresses *addresses = &zk->addresses[i];
        for (unsigned k = 0; k < addresses->n; k++) {
            size_t at = len == 0 ? 0 : len + 1;
            size_t n =
                print_address(&addresses->list[k], hosts + at, size - at);
            if (n == 0) {
                continue;
            }
            if (len > 0) {
                hosts[len] = ',';
            }
            len = at + n;
            count++;
        }
    }
    hosts[len] = '\0';
    if (count == 0) {
        free(hosts);
        return;
    }
    free(zk->hosts);
    zk->hosts = hosts;
    zk->n_addresses = count;
}

void hf_zk_target_fini(struct hf_zk *zk)
{
    hf_wire_hosts_fini(zk->servers, zk->n_servers);
    hf_wire_login_fini(&zk->url_login);
    free(zk->hosts);
    free(zk->chroot);
    free(zk->base);
    hf_secret_free(zk->login);
}
