/* SPDX-License-Identifier: Apache-2.0 */
/* Three things are decided here, before anything is sent:
 *
 *     server    a host by TCP, or the unix socket: "localhost" means the
 *               socket, as for the clients of MySQL, but over TLS
 *     login     of the URL; else of an option file, if the URL names one; no
 *               other file of the user or the system is read
 *     TLS       mysqls:// demands it, with the certificate and its name
 *               checked before the login; mysql:// has none, even if the
 *               server offers it
 *
 * An option file can contradict the URL, so after it was read the options are
 * compared with what the URL asks for: hf_mysql_target_secures(), and
 * hf_mysql_target_wants_tls() without TLS. An address with an '@' that is left
 * over is refused without being quoted: what is before it may be a password.
 *
 * Source: MariaDB Connector/C's manual, "mysql_optionsv". */
#include "store/mysql/target.h"

#include "base/fail.h"
#include "base/nearest.h"
#include "base/secret.h"
#include "io/tls.h"
#include "store/mysql/tls_scope.h"
#include "store/session/key.h"
#include "store/url_parts.h"

#include <mysql.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The port of MySQL and MariaDB, as registered. */
#define PORT_DEFAULT 3306

/* What libmariadb may agree on: as io/tls_module.c. */
#define TLS_VERSIONS "TLSv1.2,TLSv1.3"

/* ---- The address -------------------------------------------------------- */

static enum hf_status refuse_address(struct hf_error *error)
{
    return hf_fail(error, HF_INVALID,
                   "not a MySQL URL: write mysql://USER@HOST:PORT/DATABASE, or "
                   "mysql://USER@/DATABASE?socket=/PATH for a unix socket "
                   "(%s)",
                   HF_URL_ESCAPE_HINT);
}

static enum hf_status read_login(struct hf_mysql_target *target,
                                 struct hf_piece login, struct hf_error *error)
{
    bool has_password;
    struct hf_piece user = hf_piece_cut(&login, ':', &has_password);
    enum hf_status status = HF_OK;
    if (user.len > 0) {
        status = hf_piece_decode(user, "the user", &target->user, error);
    }
    if (status == HF_OK && has_password) {
        status =
            hf_piece_decode(login, "the password", &target->password, error);
    }
    return status;
}

/* Empty: a unix socket. */
static enum hf_status read_server(struct hf_mysql_target *target,
                                  struct hf_piece at, struct hf_error *error)
{
    struct hf_piece host;
    target->port = PORT_DEFAULT;
    if (!hf_piece_host(at, &host, &target->port) || hf_piece_has(host, ',')) {
        return refuse_address(error);
    }
    return host.len == 0
               ? HF_OK
               : hf_piece_decode(host, "the host", &target->host, error);
}

/* //[USER[:PASSWORD]@][HOST[:PORT]][/DATABASE] */
static enum hf_status read_address(struct hf_mysql_target *target,
                                   const char *address, struct hf_error *error)
{
    struct hf_piece rest = {address, strlen(address)};
    bool has_login, has_database;
    if (strncmp(address, "//", 2) != 0) {
        return refuse_address(error);
    }
    rest.at += 2;
    rest.len -= 2;
    struct hf_piece base = rest;
    struct hf_piece authority = hf_piece_cut(&base, '/', &has_database);
    struct hf_piece server = authority;
    struct hf_piece login = hf_piece_cut(&server, '@', &has_login);
    if (hf_piece_has(base, '@') || hf_piece_has(base, '/') ||
        (has_login && hf_piece_has(server, '@'))) {
        return refuse_address(error); /* else a password would be shown */
    }
    enum hf_status status = HF_OK;
    if (has_login) {
        status = read_login(target, login, error);
    }
    if (status == HF_OK) {
        status = read_server(target, has_login ? server : authority, error);
    }
    if (status == HF_OK && has_database && base.len > 0) {
        status =
            hf_piece_decode(base, "the database", &target->database, error);
    }
    return status;
}

/* ---- Parameters --------------------------------------------------------- */

static const char *const known[] = {"lock",
                                    "key",
                                    "socket",
                                    "defaults_file",
                                    "prefix",
                                    "max_ttl",
                                    "node_timeout",
                                    "connect_timeout",
                                    "quarantine",
                                    "fence_keep",
                                    "fence_base",
                                    "tls_ca",
                                    "tls_cert",
                                    "tls_key",
                                    NULL};

static enum hf_status refuse_unknown(const char *name, struct hf_error *error)
{
    const char *near = hf_nearest(name, known);
    if (strcmp(name, "tls") == 0 || strcmp(name, "ssl") == 0) {
        return hf_fail(error, HF_INVALID,
                       "unknown URL parameter \"%s\": for TLS write mysqls://",
                       name);
    }
    return hf_fail(error, HF_INVALID,
                   "unknown URL parameter \"%.40s\"%s%s%s (known: lock, key, "
                   "socket, defaults_file, prefix, connect_timeout, "
                   "node_timeout, max_ttl, fence_keep, fence_base, "
                   "quarantine, tls_ca, tls_cert, tls_key)",
                   name, near == NULL ? "" : ": did you mean \"",
                   near == NULL ? "" : near, near == NULL ? "" : "\"?");
}

static enum hf_status copy(char **out, const char *value,
                           struct hf_error *error)
{
    if (value == NULL) {
        return HF_OK;
    }
    hf_secret_free(*out);
    *out = strdup(value);
    return *out == NULL ? hf_fail_memory(error) : HF_OK;
}

static enum hf_status read_parameter(struct hf_mysql_target *target,
                                     const struct hf_url_option *one,
                                     struct hf_error *error)
{
    if (strcmp(one->name, "socket") == 0) {
        return one->value[0] == '/'
                   ? copy(&target->socket, one->value, error)
                   : hf_fail(error, HF_INVALID,
                             "URL parameter \"socket\": write its whole path");
    }
    if (strcmp(one->name, "defaults_file") == 0) {
        /* libmariadb ignores a file that it cannot read. */
        return access(one->value, R_OK) == 0
                   ? copy(&target->defaults_file, one->value, error)
                   : hf_fail(error, HF_CONFIG,
                             "URL parameter \"defaults_file\": %.80s cannot "
                             "be read",
                             one->value);
    }
    return refuse_unknown(one->name, error);
}

static enum hf_status read_parameters(struct hf_mysql_target *target,
                                      const struct hf_url *url,
                                      struct hf_error *error)
{
    enum hf_status status = HF_OK;
    for (unsigned i = 0; status == HF_OK && i < url->n_options; i++) {
        if (!hf_session_is_parameter(url->options[i].name)) {
            status = read_parameter(target, &url->options[i], error);
        }
    }
    if (status == HF_OK) {
        status = copy(&target->password, url->password, error);
    }
    return status;
}

/* The system's are named, too. Without any, libmariadb 3.4 sends the login to a
 * server whose certificate it cannot check, and accepts it if that server
 * proves that it knows the password. */
static enum hf_status copy_authorities(struct hf_mysql_target *target,
                                       const char *tls_ca,
                                       struct hf_error *error)
{
    const char *folder = NULL;
    if (tls_ca == NULL) {
        target->tls->authorities(&tls_ca, &folder);
    }
    enum hf_status status = copy(&target->tls_ca, tls_ca, error);
    return status == HF_OK ? copy(&target->tls_ca_folder, folder, error)
                           : status;
}

/* The files are read here for their errors: libmariadb's name no file. And the
 * first to set up OpenSSL decides that it is not cleaned up at exit, while a
 * thread of dial.c may still use it. */
static enum hf_status read_tls(struct hf_mysql_target *target,
                               const struct hf_url *url, struct hf_error *error)
{
    struct hf_tls *tls;
    bool is_maria = strncmp(url->scheme, "mariadb", 7) == 0;
    if (url->scheme[strlen(url->scheme) - 1] != 's') {
        return hf_url_refuse_tls(url, is_maria ? "mariadbs" : "mysqls", error);
    }
    enum hf_status status =
        hf_url_load_tls(url, is_maria ? "mariadb" : "mysql", &tls, error);
    if (status == HF_OK) {
        target->tls = hf_tls_ops(tls); /* the module stays loaded */
        hf_tls_free(tls);
        status = copy_authorities(target, url->tls_ca, error);
    }
    if (status == HF_OK) {
        status = copy(&target->tls_cert, url->tls_cert, error);
    }
    if (status == HF_OK) {
        status = copy(&target->tls_key, url->tls_key, error);
    }
    return status;
}

/* As the clients of MySQL: "localhost" is the unix socket. TLS is over TCP. */
static enum hf_status choose_server(struct hf_mysql_target *target,
                                    struct hf_error *error)
{
    bool is_local =
        target->host == NULL ||
        (target->tls == NULL && strcmp(target->host, "localhost") == 0);
    if (target->tls != NULL && (is_local || target->socket != NULL)) {
        return hf_fail(error, HF_INVALID,
                       "a unix socket has no TLS: write mysql://, or the host "
                       "and port of the server");
    }
    if (target->socket != NULL && !is_local) {
        return hf_fail(error, HF_INVALID,
                       "URL parameter \"socket\": it is of this machine: leave "
                       "out the host");
    }
    if (is_local) {
        free(target->host);
        target->host = NULL;
        snprintf(target->shown, sizeof(target->shown), "%.120s",
                 target->socket == NULL ? "localhost" : target->socket);
    } else {
        snprintf(target->shown, sizeof(target->shown),
                 strchr(target->host, ':') != NULL ? "[%.100s]:%u"
                                                   : "%.100s:%u",
                 target->host, (unsigned)target->port);
    }
    hf_error_make_plain(target->shown);
    return HF_OK;
}

enum hf_status hf_mysql_target_init(struct hf_mysql_target *target,
                                    const struct hf_url *url,
                                    struct hf_error *error)
{
    memset(target, 0, sizeof(*target));
    enum hf_status status = read_address(target, url->address, error);
    if (status == HF_OK) {
        status = read_parameters(target, url, error);
    }
    if (status == HF_OK) {
        status = read_tls(target, url, error);
    }
    return status == HF_OK ? choose_server(target, error) : status;
}

void hf_mysql_target_fini(struct hf_mysql_target *target)
{
    free(target->host);
    free(target->socket);
    free(target->user);
    hf_secret_free(target->password);
    free(target->database);
    free(target->defaults_file);
    free(target->tls_ca);
    free(target->tls_ca_folder);
    free(target->tls_cert);
    free(target->tls_key);
    memset(target, 0, sizeof(*target));
}

static bool copy_text(char **out, const char *text)
{
    *out = text == NULL ? NULL : strdup(text);
    return text == NULL || *out != NULL;
}

bool hf_mysql_target_copy(struct hf_mysql_target *out,
                          const struct hf_mysql_target *target)
{
    const struct hf_mysql_target from = *target;
    *out = (struct hf_mysql_target){.port = from.port, .tls = from.tls};
    memcpy(out->shown, from.shown, sizeof(out->shown));
    return copy_text(&out->host, from.host) &&
           copy_text(&out->socket, from.socket) &&
           copy_text(&out->user, from.user) &&
           copy_text(&out->password, from.password) &&
           copy_text(&out->database, from.database) &&
           copy_text(&out->defaults_file, from.defaults_file) &&
           copy_text(&out->tls_ca, from.tls_ca) &&
           copy_text(&out->tls_ca_folder, from.tls_ca_folder) &&
           copy_text(&out->tls_cert, from.tls_cert) &&
           copy_text(&out->tls_key, from.tls_key);
}

const char *hf_mysql_target_tls(const struct hf_mysql_target *target)
{
    if (target->host == NULL) {
        return "";
    }
    return target->tls != NULL ? ", over TLS" : ", without TLS";
}

/* ---- Connecting --------------------------------------------------------- */

/* Refuse a server without TLS, and check its certificate and name, before the
 * login. */
static void set_tls(const struct hf_mysql_target *target, MYSQL *sql)
{
    my_bool yes = 1;
    unsigned tcp = MYSQL_PROTOCOL_TCP; /* also to "localhost" */
    mysql_options(sql, MYSQL_OPT_PROTOCOL, &tcp);
    mysql_options(sql, MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_options(sql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
    mysql_options(sql, MARIADB_OPT_TLS_VERSION, TLS_VERSIONS);
    if (target->tls_ca != NULL) {
        mysql_options(sql, MYSQL_OPT_SSL_CA, target->tls_ca);
    }
    if (target->tls_ca_folder != NULL) {
        mysql_options(sql, MYSQL_OPT_SSL_CAPATH, target->tls_ca_folder);
    }
    if (target->tls_cert != NULL) {
        mysql_options(sql, MYSQL_OPT_SSL_CERT, target->tls_cert);
        mysql_options(sql, MYSQL_OPT_SSL_KEY, target->tls_key);
    }
}

static void set_options(const struct hf_mysql_target *target, MYSQL *sql)
{
    my_bool no = 0;
    unsigned no_files = 0;
    mysql_options(sql, MYSQL_OPT_NONBLOCK, NULL);
    mysql_options(sql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    /* No server may read our files. */
    mysql_options(sql, MYSQL_OPT_LOCAL_INFILE, &no_files);
    mysql_options4(sql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "holdfast");
    if (target->tls != NULL) {
        set_tls(target, sql);
    } else {
        mysql_options(sql, MYSQL_OPT_SSL_ENFORCE, &no);
        mysql_options(sql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &no);
    }
    if (target->defaults_file != NULL) {
        mysql_options(sql, MYSQL_READ_DEFAULT_FILE, target->defaults_file);
        mysql_options(sql, MYSQL_READ_DEFAULT_GROUP, "holdfast");
    }
}

/* The first mysql_init() of a process makes it ignore SIGPIPE, and so the
 * commands that it starts. Its sockets need that for nothing. */
struct st_mysql *hf_mysql_target_new(const struct hf_mysql_target *target)
{
    struct sigaction before;
    sigaction(SIGPIPE, NULL, &before);
    MYSQL *sql = mysql_init(NULL);
    sigaction(SIGPIPE, &before, NULL);
    if (sql != NULL) {
        set_options(target, sql);
    }
    return sql;
}

void hf_mysql_target_close(const struct hf_mysql_target *target,
                           struct st_mysql *sql)
{
    struct hf_mysql_tls_scope scope;
    if (sql != NULL) {
        hf_mysql_tls_scope_begin(&scope, target->tls);
        mysql_close(sql);
        hf_mysql_tls_scope_end(&scope);
    }
}

void hf_mysql_login_fini(struct hf_mysql_login *login)
{
    hf_secret_free(login->user);
    hf_secret_free(login->password);
    memset(login, 0, sizeof(*login));
}

int hf_mysql_target_connect(const struct hf_mysql_target *target,
                            struct st_mysql *sql, const struct hf_address *at,
                            struct hf_mysql_login *login, struct st_mysql **out)
{
    *out = NULL;
    snprintf(login->host, sizeof(login->host), "localhost");
    if (at != NULL && getnameinfo((const struct sockaddr *)&at->sockaddr,
                                  at->len, login->host, sizeof(login->host),
                                  NULL, 0, NI_NUMERICHOST) != 0) {
        return 0;
    }
    return mysql_real_connect_start(
        out, sql, target->tls != NULL ? target->host : login->host,
        login->user != NULL ? login->user : target->user,
        login->password != NULL ? login->password : target->password,
        target->database, target->host == NULL ? 0 : target->port,
        target->socket, CLIENT_MULTI_STATEMENTS);
}

static bool matches_text(struct st_mysql *sql, enum mysql_option option,
                         const char *want)
{
    char *text = NULL;
    mysql_get_option(sql, option, &text);
    return want == NULL || text == NULL ? want == text
                                        : strcmp(want, text) == 0;
}

/* Each of these makes libmariadb use TLS where the server has it. */
bool hf_mysql_target_wants_tls(struct st_mysql *sql)
{
    static const enum mysql_option texts[] = {
        MYSQL_OPT_SSL_KEY, MYSQL_OPT_SSL_CERT, MYSQL_OPT_SSL_CA,
        MYSQL_OPT_SSL_CAPATH, MYSQL_OPT_SSL_CIPHER};
    my_bool wants = 0, verifies = 0;
    mysql_get_option(sql, MYSQL_OPT_SSL_ENFORCE, &wants);
    mysql_get_option(sql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verifies);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        wants |= !matches_text(sql, texts[i], NULL);
    }
    return wants != 0 || verifies != 0;
}

bool hf_mysql_target_secures(const struct hf_mysql_target *target,
                             struct st_mysql *sql)
{
    my_bool verifies = 0;
    mysql_get_option(sql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verifies);
    return verifies != 0 &&
           matches_text(sql, MYSQL_OPT_SSL_CA, target->tls_ca) &&
           matches_text(sql, MYSQL_OPT_SSL_CERT, target->tls_cert) &&
           matches_text(sql, MYSQL_OPT_SSL_KEY, target->tls_key) &&
           matches_text(sql, MYSQL_OPT_SSL_CAPATH, target->tls_ca_folder) &&
           matches_text(sql, MYSQL_OPT_SSL_CIPHER, NULL) &&
           matches_text(sql, MARIADB_OPT_TLS_PEER_FP, NULL) &&
           matches_text(sql, MARIADB_OPT_TLS_PEER_FP_LIST, NULL) &&
           matches_text(sql, MARIADB_OPT_TLS_VERSION, TLS_VERSIONS);
}
