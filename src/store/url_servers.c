/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of a Redis or Valkey URL. */
#include "base/fail.h"
#include "base/secret.h"
#include "store/url.h"
#include "store/url_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Of Redis and Valkey, registered with IANA. */
#define PORT_DEFAULT 6379

/* The longest host name (RFC 1035). */
#define HOST_MAX 255

struct login {
    char *user;
    char *password;
};

static void login_fini(struct login *login)
{
    free(login->user);
    hf_secret_free(login->password);
}

/* Parse "user:password@", and remove it from the front of @p authority. */
static enum hf_status read_login(const struct hf_url_parse *parse,
                                 struct hf_piece *authority,
                                 struct login *login)
{
    bool has_login, has_password;
    struct hf_piece hosts = *authority;
    struct hf_piece userinfo = hf_piece_cut(&hosts, '@', &has_login);
    if (has_login) {
        *authority = hosts;
    } else {
        userinfo.len = 0;
    }
    if (hf_piece_has(*authority, '@')) {
        return hf_fail(parse->error, HF_INVALID,
                       "a store URL has more than one '@': %s; servers with "
                       "logins of their own are written as several whole URLs",
                       HF_URL_ESCAPE_HINT);
    }
    struct hf_piece user = hf_piece_cut(&userinfo, ':', &has_password);
    enum hf_status status = HF_OK;
    if (user.len > 0) {
        status = hf_piece_decode(user, "the user of a store URL", &login->user,
                                 parse->error);
    }
    if (status == HF_OK && has_password && parse->password == NULL) {
        status = hf_piece_decode(userinfo, "the password of a store URL",
                                 &login->password, parse->error);
    }
    if (status == HF_OK && parse->password != NULL) {
        login->password = strdup(parse->password);
        status = login->password == NULL ? hf_fail_memory(parse->error) : HF_OK;
    }
    if (status == HF_OK && login->user != NULL && login->password == NULL) {
        status = hf_fail(parse->error, HF_INVALID,
                         "a store URL has a user but no password: write "
                         "user:password@, or :password@ for a password alone");
    }
    return status;
}

static enum hf_status add_endpoint(struct hf_url_parse *parse, bool is_tls,
                                   bool is_unix, char *host, uint16_t port,
                                   int64_t db, const struct login *login)
{
    struct hf_url *url = parse->url;
    if (parse->n_nodes++ >= HF_NODES_MAX) {
        free(host);
        return HF_OK; /* hf_url_check_servers() refuses it with the number */
    }
    struct hf_endpoint *endpoint = &url->endpoints[url->n_endpoints++];
    *endpoint = (struct hf_endpoint){.is_unix = is_unix,
                                     .is_tls = is_tls,
                                     .host = host,
                                     .port = port,
                                     .db = (int)db};
    if (login->user != NULL) {
        endpoint->user = strdup(login->user);
        if (endpoint->user == NULL) {
            return hf_fail_memory(parse->error);
        }
    }
    if (login->password != NULL) {
        endpoint->password = strdup(login->password);
        if (endpoint->password == NULL) {
            return hf_fail_memory(parse->error);
        }
    }
    return HF_OK;
}

static enum hf_status read_host(struct hf_url_parse *parse,
                                struct hf_piece item, bool is_tls, int64_t db,
                                const struct login *login)
{
    struct hf_piece host;
    uint16_t port = PORT_DEFAULT;
    char *text = NULL;
    if (!hf_piece_host(item, &host, &port) || host.len == 0 ||
        host.len > HOST_MAX) {
        return hf_fail(parse->error, HF_INVALID,
                       "a store URL has an empty or malformed host, or a port "
                       "that is no number from 1 to 65535: write host:port, an "
                       "IPv6 address as [::1]:port; %s",
                       HF_URL_ESCAPE_HINT);
    }
    enum hf_status status =
        hf_piece_decode(host, "the host of a store URL", &text, parse->error);
    if (status != HF_OK) {
        return status;
    }
    return add_endpoint(parse, is_tls, false, text, port, db, login);
}

enum hf_status hf_url_read_servers(struct hf_url_parse *parse,
                                   struct hf_piece rest, bool is_tls)
{
    bool has_path, has_more = true;
    int64_t db = 0;
    struct hf_piece authority = hf_piece_cut(&rest, '/', &has_path);
    struct login login = {NULL, NULL};
    if (hf_piece_has(rest, '@')) {
        return hf_fail(parse->error, HF_INVALID,
                       "a store URL has '@' behind a '/': %s",
                       HF_URL_ESCAPE_HINT);
    }
    if (rest.len > 0 && !hf_piece_number(rest, INT32_MAX, &db)) {
        return hf_fail(parse->error, HF_INVALID,
                       "what follows the host of a Redis URL is the number of "
                       "a database, like /0");
    }
    enum hf_status status = read_login(parse, &authority, &login);
    while (status == HF_OK && has_more) {
        struct hf_piece item = hf_piece_cut(&authority, ',', &has_more);
        status = read_host(parse, item, is_tls, db, &login);
    }
    login_fini(&login);
    return status;
}

/* Longest path of a unix socket: sizeof(sockaddr_un.sun_path) less the NUL. */
#define SOCKET_PATH_MAX 107

enum hf_status hf_url_read_socket(struct hf_url_parse *parse,
                                  struct hf_piece rest)
{
    struct login login = {NULL, NULL};
    char *path = NULL;
    enum hf_status status = read_login(parse, &rest, &login);
    if (status == HF_OK) {
        status = hf_piece_decode(rest, "the socket's path in a store URL",
                                 &path, parse->error);
    }
    if (status == HF_OK && path[0] != '/') {
        status = hf_fail(parse->error, HF_INVALID,
                         "the path of a unix socket is absolute: "
                         "redis+unix:///path.sock");
    } else if (status == HF_OK && strlen(path) > SOCKET_PATH_MAX) {
        status = hf_fail(parse->error, HF_CONFIG,
                         "the path of a unix socket has at most %d bytes, not "
                         "%zu",
                         SOCKET_PATH_MAX, strlen(path));
    }
    if (status == HF_OK) {
        status = add_endpoint(parse, false, true, path, 0, 0, &login);
        path = NULL;
    }
    free(path);
    login_fini(&login);
    return status;
}

/* ---- All servers ------------------------------------------------------- */

static bool is_same_server(const struct hf_endpoint *a,
                           const struct hf_endpoint *b)
{
    if (a->is_unix != b->is_unix || a->port != b->port) {
        return false;
    }
    return a->is_unix ? strcmp(a->host, b->host) == 0
                      : strcasecmp(a->host, b->host) == 0;
}

static enum hf_status refuse_twice(const struct hf_url_parse *parse, unsigned i,
                                   unsigned j)
{
    const struct hf_endpoint *server = &parse->url->endpoints[i];
    char port[HF_TEXT_SHORT] = "";
    if (!server->is_unix) {
        snprintf(port, sizeof(port), ":%u", (unsigned)server->port);
    }
    return hf_fail(parse->error, HF_CONFIG,
                   "the server %s%s is given twice (nodes %u and %u): it would "
                   "vote twice",
                   server->host, port, i + 1, j + 1);
}

enum hf_status hf_url_check_servers(const struct hf_url_parse *parse)
{
    const struct hf_url *url = parse->url;
    if (parse->n_nodes > HF_NODES_MAX) {
        return hf_fail(parse->error, HF_CONFIG,
                       "%u servers; at most %d are possible: nine outlive four "
                       "failures already",
                       parse->n_nodes, HF_NODES_MAX);
    }
    for (unsigned i = 0; i < url->n_endpoints; i++) {
        for (unsigned j = i + 1; j < url->n_endpoints; j++) {
            if (is_same_server(&url->endpoints[i], &url->endpoints[j])) {
                return refuse_twice(parse, i, j);
            }
        }
    }
    if (url->n_endpoints > 0 && url->n_endpoints % 2 == 0) {
        return hf_fail(parse->error, HF_CONFIG,
                       "%u servers: an even number outlives no more failures "
                       "than one server less; give 1, 3, 5, 7 or 9",
                       url->n_endpoints);
    }
    return HF_OK;
}
