/* SPDX-License-Identifier: Apache-2.0 */
/* The database of holdfast guard --install: a URL, a file, or the client
 * program's default, as words of that program.
 *
 * ps shows words, so a password is exported in the variable that the program
 * reads, and overwritten where it was typed. */
#include "guard_client.h"

#include "exit_code.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- A URL in pieces --------------------------------------------------- */

struct piece {
    char *at; /* NULL: not there */
    size_t len;
};

/* SCHEME://USER:PASSWORD@HOST:PORT/PATH?QUERY */
struct address {
    struct piece scheme, user, password, host, port, path, query;
};

static struct piece piece_of(char *at, size_t len)
{
    return (struct piece){.at = at, .len = len};
}

static void split_host(struct address *address, char *at, size_t len)
{
    char *end = len > 0 && at[0] == '[' ? memchr(at, ']', len) : NULL;
    char *from = end != NULL ? end : at;
    char *colon = memrchr(from, ':', len - (size_t)(from - at));
    size_t host_len = colon != NULL ? (size_t)(colon - at) : len;
    if (colon != NULL) {
        address->port = piece_of(colon + 1, len - host_len - 1);
    }
    address->host = end != NULL ? piece_of(at + 1, (size_t)(end - at) - 1)
                                : piece_of(at, host_len);
}

static void split(struct address *address, char *url)
{
    char *at = strstr(url, "://");
    *address = (struct address){.scheme = piece_of(url, (size_t)(at - url))};
    at += strlen("://");
    size_t len = strcspn(at, "/?");
    char *next = at + len;
    char *sign = memrchr(at, '@', len);
    if (sign != NULL) {
        char *colon = memchr(at, ':', (size_t)(sign - at));
        char *end = colon != NULL ? colon : sign;
        address->user = piece_of(at, (size_t)(end - at));
        if (colon != NULL) {
            address->password = piece_of(colon + 1, (size_t)(sign - colon) - 1);
        }
        at = sign + 1;
    }
    split_host(address, at, (size_t)(next - at));
    if (*next == '/') {
        address->path = piece_of(next, strcspn(next, "?"));
        next += address->path.len;
    }
    if (*next == '?') {
        address->query = piece_of(next + 1, strlen(next + 1));
    }
}

/* The next NAME=VALUE of the query. */
static bool next_parameter(struct piece *query, struct piece *name,
                           struct piece *value)
{
    if (query->at == NULL || query->len == 0) {
        return false;
    }
    char *at = query->at;
    char *end = memchr(at, '&', query->len);
    size_t len = end != NULL ? (size_t)(end - at) : query->len;
    char *equals = memchr(at, '=', len);
    *name = piece_of(at, equals != NULL ? (size_t)(equals - at) : len);
    *value = equals != NULL ? piece_of(equals + 1, len - name->len - 1)
                            : piece_of(at + len, 0);
    len += end != NULL;
    *query = piece_of(at + len, query->len - len);
    return true;
}

static bool is(const struct piece *piece, const char *text)
{
    return piece->len == strlen(text) &&
           memcmp(piece->at, text, piece->len) == 0;
}

/* ---- Words ------------------------------------------------------------- */

static void hide(struct piece *secret)
{
    if (secret->at != NULL) {
        memset(secret->at, '*', secret->len);
    }
}

/* No password must be in a message. */
static void hide_all(char *url)
{
    struct address address;
    struct piece name, value;
    split(&address, url);
    hide(&address.password);
    while (next_parameter(&address.query, &name, &value)) {
        if (memmem(name.at, name.len, "pass", 4) != NULL) {
            hide(&value);
        }
    }
}

static int refuse(char *target, const char *reason)
{
    struct cli_out out;
    if (strstr(target, "://") != NULL) {
        hide_all(target);
    }
    cli_message_begin(&out);
    cli_out_text(&out, "guard: --install ");
    (void)cli_out_shown(&out, target, strlen(target));
    cli_out_text(&out, ": ");
    cli_out_text(&out, reason);
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

/* Append BEFORE and the bytes. @return NULL: no room. */
static char *keep(struct cli_guard_client *client, const char *before,
                  const char *bytes, size_t len)
{
    size_t n = strlen(before);
    char *text = client->text + client->used;
    if (n + len + 1 > sizeof(client->text) - client->used) {
        return NULL;
    }
    memcpy(text, before, n);
    memcpy(text + n, bytes, len);
    text[n + len] = '\0';
    client->used += n + len + 1;
    return text;
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* BEFORE and the decoded piece. @return NULL: too long, a % without two hex
 * digits, or a NUL. */
static char *decode(struct cli_guard_client *client, const char *before,
                    const struct piece *piece)
{
    char *text = keep(client, before, piece->at, piece->len);
    if (text == NULL) {
        return NULL;
    }
    char *to = text + strlen(before);
    for (const char *at = to; *at != '\0'; at++) {
        if (*at == '%') {
            int high = digit(at[1]);
            int low = high < 0 ? -1 : digit(at[2]);
            if (low < 0 || high + low == 0) {
                return NULL;
            }
            *to++ = (char)(high * 16 + low);
            at += 2;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
    return text;
}

/* Nothing if the piece is empty. */
static bool add(struct cli_guard_client *client, const char *before,
                const struct piece *piece)
{
    if (piece->at == NULL || piece->len == 0) {
        return true;
    }
    char *text = decode(client, before, piece);
    if (text != NULL) {
        cli_guard_client_add(client, text);
    }
    return text != NULL;
}

static bool add_two(struct cli_guard_client *client, const char *option,
                    const struct piece *piece)
{
    if (piece->at != NULL && piece->len > 0) {
        cli_guard_client_add(client, option);
    }
    return add(client, "", piece);
}

/* Export it, and overwrite it. */
static bool take_password(struct cli_guard_client *client, const char *name,
                          struct piece *password)
{
    if (password->at == NULL || password->len == 0) {
        return true;
    }
    size_t used = client->used;
    char *text = decode(client, "", password);
    bool is_set = text != NULL && setenv(name, text, 1) == 0;
    explicit_bzero(client->text + used, sizeof(client->text) - used);
    client->used = used;
    hide(password);
    return is_set;
}

#define BAD_URL                                                                \
    "a URL has at most 8000 bytes, and behind each % two hex digits, not 00"

/* ---- PostgreSQL -------------------------------------------------------- */

/* The URL is libpq's, and goes to psql without the password. */
static int add_conninfo(struct cli_guard_client *client, char *target)
{
    struct address address;
    struct piece name, value;
    char *start = client->text + client->used;
    split(&address, target);
    bool has_user = address.password.at != NULL;
    bool is_good = take_password(client, "PGPASSWORD", &address.password);
    size_t head =
        (size_t)((has_user                   ? address.password.at - 1
                  : address.query.at != NULL ? address.query.at - 1
                                             : target + strlen(target)) -
                 target);
    is_good = is_good && keep(client, "", target, head) != NULL;
    if (has_user && is_good) {
        const char *rest = address.password.at + address.password.len;
        client->used--;
        is_good = keep(client, "", rest, strcspn(rest, "?")) != NULL;
    }
    for (const char *before = "?";
         is_good && next_parameter(&address.query, &name, &value);) {
        if (is(&name, "password")) {
            is_good = take_password(client, "PGPASSWORD", &value);
            continue;
        }
        if (is(&name, "sslpassword")) {
            return refuse(target, "ps would show the sslpassword: name it in a "
                                  "service file (?service=NAME)");
        }
        client->used--;
        is_good = keep(client, before, name.at,
                       (size_t)(value.at - name.at) + value.len) != NULL;
        before = "&";
    }
    cli_guard_client_add(client, "-d");
    cli_guard_client_add(client, start);
    return is_good ? 0 : refuse(target, BAD_URL);
}

static int address_postgres(struct cli_guard_client *client, char *target)
{
    (void)setenv("PGCONNECT_TIMEOUT", "10", 0);
    if (target == NULL) {
        return 0;
    }
    if (strncmp(target, "postgres://", strlen("postgres://")) == 0 ||
        strncmp(target, "postgresql://", strlen("postgresql://")) == 0) {
        return add_conninfo(client, target);
    }
    if (strstr(target, "://") != NULL) {
        return refuse(target, "must be postgres://USER@HOST/DATABASE");
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

static int address_mysql(struct cli_guard_client *client, char *target)
{
    static const struct {
        const char *name, *option;
    } options[] = {{"socket", "--socket="},
                   {"ssl-ca", "--ssl-ca="},
                   {"ssl-cert", "--ssl-cert="},
                   {"ssl-key", "--ssl-key="}};
    struct address address;
    struct piece name, value;
    if (target == NULL) {
        return 0;
    }
    if (strstr(target, "://") == NULL) {
        cli_guard_client_add(client, target);
        return 0;
    }
    split(&address, target);
    bool is_good = take_password(client, "MYSQL_PWD", &address.password);
    if (!is(&address.scheme, "mysql") && !is(&address.scheme, "mariadb")) {
        return refuse(target, "must be mysql://USER@HOST/DATABASE");
    }
    is_good = is_good && add(client, "--user=", &address.user) &&
              add(client, "--host=", &address.host) &&
              add(client, "--port=", &address.port);
    while (is_good && next_parameter(&address.query, &name, &value)) {
        size_t i = 0;
        while (i < 4 && !is(&name, options[i].name)) {
            i++;
        }
        if (i == 4) {
            return refuse(target, "its parameters may be socket, ssl-ca, "
                                  "ssl-cert and ssl-key");
        }
        is_good = add(client, options[i].option, &value);
    }
    if (address.path.len > 1) {
        address.path = piece_of(address.path.at + 1, address.path.len - 1);
        is_good = is_good && add(client, "--database=", &address.path);
    }
    return is_good ? 0 : refuse(target, BAD_URL);
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
    char *path =
        keep(client, target[0] == '/' ? "" : "./", target, strlen(target));
    if (path == NULL) {
        return refuse(target, cli_message_of(ENAMETOOLONG));
    }
    cli_guard_client_add(client, path);
    return 0;
}

static const struct cli_guard_error sqlite_errors[] = {
    {"readonly", CLI_EXIT_DENIED},    {"unable to open", CLI_EXIT_DENIED},
    {"locked", CLI_EXIT_UNREACHABLE}, {"busy", CLI_EXIT_UNREACHABLE},
    {NULL, CLI_EXIT_CONFIG},
};

const struct cli_guard_program cli_guard_sqlite3 = {
    .names = {"sqlite3"},
    .package = "sqlite3",
    .options = {"-batch", "-bail", "-noheader", "-list", "-init", "/dev/null",
                "-cmd", ".timeout 10000"},
    .address = address_sqlite,
    .errors = sqlite_errors,
};

/* ---- Redis ------------------------------------------------------------- */

static bool add_redis_options(struct cli_guard_client *client,
                              struct piece *query)
{
    static const struct {
        const char *name, *option;
    } options[] = {
        {"tls_ca", "--cacert"}, {"tls_cert", "--cert"}, {"tls_key", "--key"}};
    struct piece name, value;
    bool is_good = true;
    while (is_good && next_parameter(query, &name, &value)) {
        size_t i = 0;
        while (i < 3 && !is(&name, options[i].name)) {
            i++;
        }
        is_good = i < 3 && add_two(client, options[i].option, &value);
    }
    return is_good;
}

static int address_redis(struct cli_guard_client *client, char *target)
{
    struct address address;
    if (target == NULL) {
        return cli_message(CLI_EXIT_USAGE, NULL,
                           "guard: which server? holdfast guard redis "
                           "--install redis://HOST");
    }
    if (strstr(target, "://") == NULL) {
        return refuse(target, "must be redis://HOST");
    }
    split(&address, target);
    bool is_good = take_password(client, "REDISCLI_AUTH", &address.password);
    bool is_tls =
        is(&address.scheme, "rediss") || is(&address.scheme, "valkeys");
    bool is_unix =
        is(&address.scheme, "redis+unix") || is(&address.scheme, "valkey+unix");
    if (!is_tls && !is_unix && !is(&address.scheme, "redis") &&
        !is(&address.scheme, "valkey")) {
        return refuse(target, "must be redis://HOST, rediss://HOST or "
                              "redis+unix:///SOCKET");
    }
    if (strpbrk(target, ", ") != NULL) {
        return refuse(target, "one server, that of the data");
    }
    if (is_tls) {
        cli_guard_client_add(client, "--tls");
    }
    is_good = is_good && add_two(client, "--user", &address.user) &&
              (is_unix ? add_two(client, "-s", &address.path)
                       : add_two(client, "-h", &address.host) &&
                             add_two(client, "-p", &address.port));
    if (is_good && !add_redis_options(client, &address.query)) {
        return refuse(target,
                      "its parameters may be tls_ca, tls_cert and tls_key");
    }
    return is_good ? 0 : refuse(target, BAD_URL);
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
