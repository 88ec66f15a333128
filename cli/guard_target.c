/* SPDX-License-Identifier: Apache-2.0 */
/* The database of holdfast guard --install: a URL, a file, or the client
 * program's default, as words of that program. */
#include "guard_address.h"

#include "exit_code.h"
#include "message.h"
#include "text_size.h"

#include "io/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- PostgreSQL -------------------------------------------------------- */

static const char *parameter_reason(const struct cli_guard_piece *name)
{
    /* libpq decodes names, too: it may be the password's. */
    if (memchr(name->at, '%', name->len) != NULL) {
        return "write the names of parameters without a %";
    }
    return cli_guard_piece_is(name, "sslpassword")
               ? "ps would show the sslpassword: name it in a service file "
                 "(?service=NAME)"
               : NULL;
}

/* Append to the text that was kept last. @return false: no room. */
static bool keep_more(struct cli_guard_client *client, const char *before,
                      const char *bytes, size_t len)
{
    client->used--; /* its NUL */
    return cli_guard_keep(client, before, bytes, len) != NULL;
}

/* Up to the query, without the password. @return false: no room. */
static bool keep_server(struct cli_guard_client *client, const char *target,
                        const struct cli_guard_address *address)
{
    const struct cli_guard_piece *password = &address->password;
    const char *end = password->at != NULL        ? password->at - 1
                      : address->query.at != NULL ? address->query.at - 1
                                                  : target + strlen(target);
    if (cli_guard_keep(client, "", target, (size_t)(end - target)) == NULL) {
        return false;
    }
    if (password->at == NULL) {
        return true;
    }
    const char *rest = password->at + password->len;
    return keep_more(client, "", rest, strcspn(rest, "?"));
}

/* The query, without a password. @return NULL, or why it is refused. */
static const char *keep_parameters(struct cli_guard_client *client,
                                   struct cli_guard_piece *query)
{
    struct cli_guard_piece name, value;
    const char *before = "?";
    bool is_good = true;
    while (is_good && cli_guard_next(query, &name, &value)) {
        const char *reason = parameter_reason(&name);
        if (reason != NULL) {
            return reason;
        }
        if (cli_guard_piece_is(&name, "password")) {
            is_good = cli_guard_take_password(client, "PGPASSWORD", &value);
            continue;
        }
        is_good = keep_more(client, before, name.at,
                            (size_t)(value.at - name.at) + value.len);
        before = "&";
    }
    return is_good ? NULL : CLI_GUARD_BAD_URL;
}

/* The URL is libpq's, and goes to psql without the password. */
static int add_conninfo(struct cli_guard_client *client, char *target)
{
    struct cli_guard_address address;
    char *start = client->text + client->used;
    cli_guard_split(&address, target);
    if (!cli_guard_take_password(client, "PGPASSWORD", &address.password) ||
        !keep_server(client, target, &address)) {
        return cli_guard_refuse(target, CLI_GUARD_BAD_URL);
    }
    const char *reason = keep_parameters(client, &address.query);
    if (reason != NULL) {
        return cli_guard_refuse(target, reason);
    }
    cli_guard_client_add(client, "-d");
    cli_guard_client_add(client, start);
    return 0;
}

static int address_postgres(struct cli_guard_client *client, char *target)
{
    (void)setenv("PGCONNECT_TIMEOUT", "10", 0);
    if (target == NULL) {
        return 0;
    }
    if (strncmp(target, "postgres://", strlen("postgres://")) == 0 ||
        strncmp(target, "postgresql://", strlen("postgresql://")) == 0) {
        int code = cli_guard_check(target);
        return code != 0 ? code : add_conninfo(client, target);
    }
    if (strstr(target, "://") != NULL) {
        return cli_guard_refuse(target,
                                "must be postgres://USER@HOST/DATABASE");
    }
    if (strchr(target, '=') != NULL && strstr(target, "password") != NULL) {
        return cli_message(CLI_EXIT_USAGE, "guard: --install",
                           "ps would show the password: write it in a URL, "
                           "PGPASSWORD or a file");
    }
    cli_guard_client_add(client, "-d");
    cli_guard_client_add(client, target);
    return 0;
}

static const struct cli_guard_error postgres_errors[] = {
    {"42501:", CLI_EXIT_DENIED},
    {"authentication", CLI_EXIT_DENIED},
    {"no password supplied", CLI_EXIT_DENIED},
    {"no pg_hba.conf entry", CLI_EXIT_DENIED},
    {"does not exist", CLI_EXIT_CONFIG},
    {"invalid", CLI_EXIT_CONFIG},
    {"55P03:", CLI_EXIT_UNREACHABLE},
    {"57014:", CLI_EXIT_UNREACHABLE},
    {"connection", CLI_EXIT_UNREACHABLE},
    {"could not translate host name", CLI_EXIT_UNREACHABLE},
    {NULL, CLI_EXIT_CONFIG},
};

const struct cli_guard_program cli_guard_psql = {
    .names = {"psql"},
    .package = "postgresql-client",
    .options = {"-XAtqw", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose"},
    .address = address_postgres,
    .errors = postgres_errors,
};

/* ---- MySQL ------------------------------------------------------------- */

/* Without TLS, or with as much of it as the client program checks. */
static int add_mysql_options(struct cli_guard_client *client, char *target,
                             struct cli_guard_piece *query)
{
    static const struct {
        const char *name, *option;
    } options[] = {{"socket", "--socket="},
                   {"ssl-ca", "--ssl-ca="},
                   {"ssl-cert", "--ssl-cert="},
                   {"ssl-key", "--ssl-key="}};
    struct cli_guard_piece name, value;
    while (cli_guard_next(query, &name, &value)) {
        size_t i = 0;
        while (i < 4 && !cli_guard_piece_is(&name, options[i].name)) {
            i++;
        }
        if (i == 4) {
            return cli_guard_refuse(target,
                                    "its parameters may be socket, ssl-ca, "
                                    "ssl-cert and ssl-key; those of mysqls:// "
                                    "tls_ca, tls_cert and tls_key");
        }
        if (!cli_guard_add(client, options[i].option, &value)) {
            return cli_guard_refuse(target, CLI_GUARD_BAD_URL);
        }
    }
    return 0;
}

static void add_file(struct cli_guard_client *client, const char *option,
                     const char *file)
{
    if (file != NULL) {
        cli_guard_client_add(client, option);
        cli_guard_client_add(client, file);
    }
}

/* The system's are named, too. Without any, the program of MariaDB 11.4 and
 * later accepts a certificate of an unknown authority, from a server that
 * proves that it knows the password. A folder that is missing has none. */
static int add_authorities(struct cli_guard_client *client)
{
    struct hf_tls_settings settings = {.scheme = "mysql"};
    char why[HF_TEXT_ADVICE];
    const char *file, *folder;
    struct hf_tls *tls = hf_tls_new(&settings, why, sizeof(why));
    if (tls == NULL) {
        return cli_message(CLI_EXIT_CONFIG, "guard: --install", why);
    }
    hf_tls_ops(tls)->authorities(&file, &folder); /* the module stays loaded */
    add_file(client, "--ssl-ca", file);
    add_file(client, "--ssl-capath", folder);
    hf_tls_free(tls);
    return 0;
}

/* As store/mysql/target.c: a server without TLS is refused, and its certificate
 * and name are checked before the login; over TCP, also to localhost. */
static int add_mysql_tls(struct cli_guard_client *client, char *target,
                         struct cli_guard_address *address)
{
    static const char *const fixed[] = {"--protocol=TCP", "--ssl",
                                        "--ssl-verify-server-cert",
                                        "--tls-version=TLSv1.2,TLSv1.3"};
    struct cli_guard_tls tls;
    if (address->host.len == 0) {
        return cli_guard_refuse(target,
                                "a unix socket has no TLS: write mysql://, or "
                                "the host and port of the server");
    }
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        cli_guard_client_add(client, fixed[i]);
    }
    int code = cli_guard_read_tls(client, target, &address->query, &tls);
    if (code != 0) {
        return code;
    }
    add_file(client, "--ssl-ca", tls.ca);
    add_file(client, "--ssl-cert", tls.cert);
    add_file(client, "--ssl-key", tls.key);
    return tls.ca == NULL ? add_authorities(client) : 0;
}

/* @return false: CLI_GUARD_BAD_URL. */
static bool add_mysql_server(struct cli_guard_client *client,
                             const struct cli_guard_address *address)
{
    bool is_good = cli_guard_add(client, "--user=", &address->user) &&
                   cli_guard_add(client, "--host=", &address->host) &&
                   cli_guard_add(client, "--port=", &address->port);
    if (!is_good || address->path.len <= 1) {
        return is_good;
    }
    struct cli_guard_piece database = {address->path.at + 1,
                                       address->path.len - 1};
    return cli_guard_add(client, "--database=", &database);
}

static int address_mysql(struct cli_guard_client *client, char *target)
{
    struct cli_guard_address address;
    if (target == NULL) {
        return 0;
    }
    if (strstr(target, "://") == NULL) {
        cli_guard_client_add(client, target);
        return 0;
    }
    int code = cli_guard_check(target);
    if (code != 0) {
        return code;
    }
    cli_guard_split(&address, target);
    bool is_kept =
        cli_guard_take_password(client, "MYSQL_PWD", &address.password);
    bool is_tls = cli_guard_piece_is(&address.scheme, "mysqls") ||
                  cli_guard_piece_is(&address.scheme, "mariadbs");
    if (!is_tls && !cli_guard_piece_is(&address.scheme, "mysql") &&
        !cli_guard_piece_is(&address.scheme, "mariadb")) {
        return cli_guard_refuse(target,
                                "must be mysql://USER@HOST/DATABASE, or mysqls "
                                "with TLS");
    }
    if (!is_kept || !add_mysql_server(client, &address)) {
        return cli_guard_refuse(target, CLI_GUARD_BAD_URL);
    }
    return is_tls ? add_mysql_tls(client, target, &address)
                  : add_mysql_options(client, target, &address.query);
}

static const struct cli_guard_error mysql_errors[] = {
    {"ERROR 1044 ", CLI_EXIT_DENIED},
    {"ERROR 1045 ", CLI_EXIT_DENIED},
    {"ERROR 1142 ", CLI_EXIT_DENIED},
    {"ERROR 1143 ", CLI_EXIT_DENIED},
    {"ERROR 1227 ", CLI_EXIT_DENIED},
    {"ERROR 1370 ", CLI_EXIT_DENIED},
    {"ERROR 1419 ", CLI_EXIT_DENIED},
    {"ERROR 1698 ", CLI_EXIT_DENIED},
    {"ERROR 1205 ", CLI_EXIT_UNREACHABLE},
    {"ERROR 1927 ", CLI_EXIT_UNREACHABLE},
    {"ERROR 1040 ", CLI_EXIT_UNREACHABLE},
    {"ERROR 20", CLI_EXIT_UNREACHABLE},
    {NULL, CLI_EXIT_CONFIG},
};

#define ADD_CA "name its authority with tls_ca"

static const struct cli_guard_remedy mysql_remedies[] = {
    {"ERROR 1419 ", "SET GLOBAL log_bin_trust_function_creators = 1, or "
                    "install as an account with SUPER"},
    {"RSA public key",
     "the password of this account is sent encrypted only: write mysqls://"},
    {"signed certificate", ADD_CA},
    {"issuer certificate", ADD_CA},
    {"Validation of SSL",
     "the certificate is of another host: write a host that it names"},
    {"does not support it",
     "give the server a certificate, or write mysql:// if the network is your "
     "own"},
    {NULL, NULL},
};

/* A URL replaces all: settings of another server in option files, such as its
 * password, would go before it. */
const struct cli_guard_program cli_guard_mariadb = {
    .names = {"mariadb", "mysql"},
    .package = "mariadb-client",
    .options = {"--batch", "--skip-column-names", "--connect-timeout=10",
                "--default-character-set=utf8mb4"},
    .file_options = "--no-defaults",
    .address = address_mysql,
    .errors = mysql_errors,
    .remedies = mysql_remedies,
};

/* ---- SQLite ------------------------------------------------------------ */

#define SQLITE_MAGIC "SQLite format 3" /* with its NUL; 16 bytes */

/* An empty file is an empty database. @return NULL, or why it is none. */
static const char *sqlite_reason(const char *path, int *code)
{
    char head[sizeof(SQLITE_MAGIC)];
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *code = CLI_EXIT_CONFIG;
    if (fd < 0) {
        *code = errno == EACCES ? CLI_EXIT_DENIED : *code;
        return cli_message_of(errno);
    }
    bool is_file = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    ssize_t n = is_file ? read(fd, head, sizeof(head)) : -1;
    (void)close(fd);
    bool is_database =
        n == 0 || (n == (ssize_t)sizeof(head) &&
                   memcmp(head, SQLITE_MAGIC, sizeof(head)) == 0);
    return is_database ? NULL : "not an SQLite database; nothing was changed";
}

static int address_sqlite(struct cli_guard_client *client, char *target)
{
    int code;
    if (target == NULL) {
        return cli_message(CLI_EXIT_USAGE, NULL,
                           "guard: which file? holdfast guard sqlite --install "
                           "FILE");
    }
    const char *reason = sqlite_reason(target, &code);
    if (reason != NULL) {
        struct cli_out out;
        cli_message_begin(&out);
        cli_out_text(&out, "guard: ");
        (void)cli_out_shown(&out, target, strlen(target));
        cli_out_text(&out, ": ");
        cli_out_text(&out, reason);
        return cli_message_end(&out, code);
    }
    /* Not an option of the shell, nor a file: URL. */
    char *path = cli_guard_keep(client, target[0] == '/' ? "" : "./", target,
                                strlen(target));
    if (path == NULL) {
        return cli_guard_refuse(target, cli_message_of(ENAMETOOLONG));
    }
    cli_guard_client_add(client, path);
    return 0;
}

static const struct cli_guard_error sqlite_errors[] = {
    {"readonly", CLI_EXIT_DENIED},    {"unable to open", CLI_EXIT_DENIED},
    {"locked", CLI_EXIT_UNREACHABLE}, {"busy", CLI_EXIT_UNREACHABLE},
    {NULL, CLI_EXIT_CONFIG},
};

static const struct cli_guard_remedy sqlite_remedies[] = {
    {"malformed database schema (holdfast_stale)",
     "the guard was installed by SQLite 3.47 or later, and this sqlite3 is "
     "older: use a newer one; nothing was changed"},
    {NULL, NULL},
};

const struct cli_guard_program cli_guard_sqlite3 = {
    .names = {"sqlite3"},
    .package = "sqlite3",
    .options = {"-batch", "-bail", "-noheader", "-list", "-init", "/dev/null",
                "-cmd", ".timeout 10000"},
    .address = address_sqlite,
    .errors = sqlite_errors,
    .remedies = sqlite_remedies,
};

/* ---- Redis ------------------------------------------------------------- */

/* redis-cli checks the authority of a certificate, and not its host. */
static int add_redis_tls(struct cli_guard_client *client, char *target,
                         const struct cli_guard_address *address)
{
    struct cli_guard_piece query = address->query;
    struct cli_guard_tls tls;
    const char *port = "6379";
    if (address->host.len == 0) {
        return cli_guard_refuse(target, "TLS needs a host");
    }
    const char *host = cli_guard_decode(client, &address->host);
    if (address->port.len > 0) {
        port = cli_guard_decode(client, &address->port);
    }
    if (host == NULL || port == NULL) {
        return cli_guard_refuse(target, CLI_GUARD_BAD_URL);
    }
    int code = cli_guard_read_tls(client, target, &query, &tls);
    if (code != 0) {
        return code;
    }
    struct hf_tls_settings settings = {
        .ca = tls.ca,
        .cert = tls.cert,
        .key = tls.key,
        .scheme = cli_guard_piece_is(&address->scheme, "valkeys") ? "valkey"
                                                                  : "redis"};
    code = cli_guard_relay_start(&client->relay, &settings, host, port);
    cli_guard_client_add(client, "-s");
    cli_guard_client_add(client, client->relay.path);
    return code;
}

enum redis_way { REDIS_UNKNOWN, REDIS_PLAIN, REDIS_TLS, REDIS_UNIX };

static enum redis_way redis_way_of(const struct cli_guard_piece *scheme)
{
    static const struct {
        const char *scheme;
        enum redis_way way;
    } ways[] = {
        {"redis", REDIS_PLAIN},     {"valkey", REDIS_PLAIN},
        {"rediss", REDIS_TLS},      {"valkeys", REDIS_TLS},
        {"redis+unix", REDIS_UNIX}, {"valkey+unix", REDIS_UNIX},
    };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (cli_guard_piece_is(scheme, ways[i].scheme)) {
            return ways[i].way;
        }
    }
    return REDIS_UNKNOWN;
}

/* @return false: CLI_GUARD_BAD_URL. */
static bool add_redis_server(struct cli_guard_client *client,
                             enum redis_way way,
                             const struct cli_guard_address *address)
{
    if (way == REDIS_UNIX) {
        return cli_guard_add_two(client, "-s", &address->path);
    }
    return cli_guard_add_two(client, "-h", &address->host) &&
           cli_guard_add_two(client, "-p", &address->port);
}

static int address_redis(struct cli_guard_client *client, char *target)
{
    struct cli_guard_address address;
    if (target == NULL) {
        return cli_message(CLI_EXIT_USAGE, NULL,
                           "guard: which server? holdfast guard redis "
                           "--install redis://HOST");
    }
    if (strstr(target, "://") == NULL) {
        return cli_guard_refuse(target, "must be redis://HOST");
    }
    int code = cli_guard_check(target);
    if (code != 0) {
        return code;
    }
    cli_guard_split(&address, target);
    bool is_kept =
        cli_guard_take_password(client, "REDISCLI_AUTH", &address.password);
    enum redis_way way = redis_way_of(&address.scheme);
    if (way == REDIS_UNKNOWN) {
        return cli_guard_refuse(target,
                                "must be redis://HOST, rediss://HOST or "
                                "redis+unix:///SOCKET");
    }
    if (strpbrk(target, ", ") != NULL) {
        return cli_guard_refuse(target, "one server, that of the data");
    }
    if (way != REDIS_TLS && address.query.len > 0) {
        return cli_guard_refuse(target, CLI_GUARD_TLS_NAMES ", with rediss://");
    }
    if (!is_kept || !cli_guard_add_two(client, "--user", &address.user)) {
        return cli_guard_refuse(target, CLI_GUARD_BAD_URL);
    }
    if (way == REDIS_TLS) {
        return add_redis_tls(client, target, &address);
    }
    return add_redis_server(client, way, &address)
               ? 0
               : cli_guard_refuse(target, CLI_GUARD_BAD_URL);
}

static const struct cli_guard_error redis_errors[] = {
    {"AUTH", CLI_EXIT_DENIED},
    {"NOPERM", CLI_EXIT_DENIED},
    {"WRONGPASS", CLI_EXIT_DENIED},
    {"onnect", CLI_EXIT_UNREACHABLE},
    {"Server closed", CLI_EXIT_UNREACHABLE},
    {"BUSY", CLI_EXIT_UNREACHABLE},
    {"LOADING", CLI_EXIT_UNREACHABLE},
    {NULL, CLI_EXIT_CONFIG},
};

const struct cli_guard_program cli_guard_redis_cli = {
    .names = {"redis-cli", "valkey-cli"},
    .package = "redis-tools",
    .options = {"--no-auth-warning"},
    .address = address_redis,
    .errors = redis_errors,
    .has_replies = true,
};
