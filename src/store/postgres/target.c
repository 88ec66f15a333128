/* SPDX-License-Identifier: Apache-2.0 */
/* WHICH SERVER, AND WITH WHICH SETTINGS
 *
 * libpq merges the URL, PG* variables and the service file, and shows the
 * result only of a connection. So hf_pg_target_init() begins one that must fail
 * before any other step, by a value that no libpq accepts, and reads host and
 * port from it. Host names are looked up by io/resolve.h, and libpq gets the
 * addresses: its own look-up blocks. Settings with which libpq
 * could block are set or refused here.
 *
 * Cost: no round trip; reads the service file, if one is named.
 * Source: libpq's manual, "Parameter Key Words" and "Connection Service File".
 */
#include "store/postgres/target.h"

#include "base/fail.h"
#include "base/nearest.h"
#include "base/secret.h"
#include "store/session/key.h"

#include <libpq-fe.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Keywords that the connection sets itself: encoding, hosts, end. */
#define OWN_KEYWORDS 8

/* Bytes of a list of HF_ADDRESSES_MAX addresses with their scopes. */
#define LIST_MAX 1024

/* ---- Keywords ----------------------------------------------------------- */

static struct hf_pg_keyword *find(const struct hf_pg_target *target,
                                  const char *name)
{
    for (unsigned i = 0; i < target->n; i++) {
        if (strcmp(target->keywords[i].name, name) == 0) {
            return &target->keywords[i];
        }
    }
    return NULL;
}

/* Set, or replace, a keyword. */
static enum hf_status set(struct hf_pg_target *target, const char *name,
                          const char *value, struct hf_error *error)
{
    char *copy = strdup(value);
    struct hf_pg_keyword *old = find(target, name);
    if (copy != NULL && old != NULL) {
        hf_secret_free(old->value);
        old->value = copy;
        return HF_OK;
    }
    char *key = strdup(name);
    struct hf_pg_keyword *all =
        realloc(target->keywords, (target->n + 1) * sizeof(*all));
    if (all != NULL) {
        target->keywords = all;
    }
    if (copy == NULL || key == NULL || all == NULL) {
        hf_secret_free(copy);
        free(key);
        return hf_fail_memory(error);
    }
    all[target->n].name = key;
    all[target->n].value = copy;
    target->n++;
    return HF_OK;
}

static enum hf_status set_default(struct hf_pg_target *target, const char *name,
                                  const char *variable, const char *value,
                                  struct hf_error *error)
{
    bool is_set = find(target, name) != NULL ||
                  (variable != NULL && getenv(variable) != NULL);
    return is_set ? HF_OK : set(target, name, value, error);
}

/* ---- The URL ------------------------------------------------------------ */

static enum hf_status refuse_address(struct hf_error *error)
{
    /* libpq's own text quotes the URL, with its password. */
    return hf_fail(error, HF_INVALID,
                   "not a PostgreSQL URL: write "
                   "postgres://USER@HOST:PORT/DATABASE, or "
                   "postgres:///DATABASE?host=/FOLDER for a unix socket (in a "
                   "password, write / ? # @ %% as %%2F %%3F %%23 %%40 %%25)");
}

/* Is there an '@' that does not end the login? libpq would take the rest of a
 * password for a host or a database, and messages would show it. */
static bool has_loose_login(const char *address)
{
    const char *at = strchr(address, '@');
    return at != NULL && (strchr(at + 1, '@') != NULL ||
                          memchr(address, '/', (size_t)(at - address)) != NULL);
}

/* Parsed by libpq itself, so that an address means here what it means to psql.
 * A text that libpq refuses is not quoted: it may have a password. */
static enum hf_status read_address(struct hf_pg_target *target,
                                   const char *address, struct hf_error *error)
{
    char *uri = NULL, *why = NULL;
    enum hf_status status = HF_OK;
    if (strncmp(address, "//", 2) != 0 || has_loose_login(address + 2)) {
        return refuse_address(error);
    }
    if (asprintf(&uri, "postgresql:%s", address) < 0) {
        return hf_fail_memory(error);
    }
    PQconninfoOption *options = PQconninfoParse(uri, &why);
    if (options == NULL) {
        bool is_starved = why == NULL || strstr(why, "out of memory") != NULL;
        status = is_starved ? hf_fail_memory(error) : refuse_address(error);
    }
    for (PQconninfoOption *at = options;
         status == HF_OK && at != NULL && at->keyword != NULL; at++) {
        if (at->val != NULL) {
            status = set(target, at->keyword, at->val, error);
        }
    }
    PQconninfoFree(options);
    PQfreemem(why);
    hf_secret_free(uri);
    return status;
}

/* Parameters that are planned, and settings that the store needs itself: each
 * is refused with its reason. */
static enum hf_status refuse_parameter(const char *name, struct hf_error *error)
{
    static const struct {
        const char *name;
        enum hf_status status;
        const char *reason;
    } refused[] = {
        {"pooler", HF_INVALID,
         "a pooler is recognised without it: leave it out"},
        {"client_encoding", HF_INVALID, "the store sets it to UTF8"},
        {"replication", HF_INVALID, "the store needs an ordinary connection"},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (strcmp(name, refused[i].name) == 0) {
            return hf_fail(error, refused[i].status, "URL parameter \"%s\": %s",
                           name, refused[i].reason);
        }
    }
    return HF_OK;
}

/* Keywords of libpq that a URL may give, for a suggestion. */
static const char *const usual[] = {"host",
                                    "hostaddr",
                                    "port",
                                    "dbname",
                                    "user",
                                    "passfile",
                                    "service",
                                    "options",
                                    "sslmode",
                                    "sslrootcert",
                                    "sslcert",
                                    "sslkey",
                                    "application_name",
                                    "prefix",
                                    "node_timeout",
                                    "connect_timeout",
                                    "quarantine",
                                    "fence_keep",
                                    "fence_base",
                                    "max_ttl",
                                    "lock",
                                    "key",
                                    NULL};

static enum hf_status refuse_unknown(const char *name, struct hf_error *error)
{
    const char *near = hf_nearest(name, usual);
    return hf_fail(error, HF_INVALID,
                   "unknown URL parameter \"%.40s\"%s%s%s (known: those of "
                   "libpq, and prefix, connect_timeout, node_timeout, "
                   "quarantine, fence_keep, fence_base, max_ttl, lock, key)",
                   name, near == NULL ? "" : ": did you mean \"",
                   near == NULL ? "" : near, near == NULL ? "" : "\"?");
}

static bool is_keyword(const PQconninfoOption *known, const char *name)
{
    for (; known->keyword != NULL; known++) {
        if (strcmp(known->keyword, name) == 0) {
            return true;
        }
    }
    return false;
}

static enum hf_status read_parameters(struct hf_pg_target *target,
                                      const struct hf_url *url,
                                      struct hf_error *error)
{
    PQconninfoOption *known = PQconninfoParse("", NULL);
    enum hf_status status = known == NULL ? hf_fail_memory(error) : HF_OK;
    for (unsigned i = 0; status == HF_OK && i < url->n_options; i++) {
        const struct hf_url_option *one = &url->options[i];
        if (hf_session_is_parameter(one->name)) {
            continue; /* read before this */
        }
        status = refuse_parameter(one->name, error);
        if (status == HF_OK && !is_keyword(known, one->name)) {
            status = refuse_unknown(one->name, error);
        }
        if (status == HF_OK) {
            status = set(target, one->name, one->value, error);
        }
    }
    PQconninfoFree(known);
    if (status == HF_OK && (url->tls_ca != NULL || url->tls_cert != NULL)) {
        return hf_fail(error, HF_INVALID,
                       "%s: TLS to PostgreSQL has the parameters of libpq: "
                       "write sslmode=verify-full with sslrootcert, and "
                       "sslcert with sslkey",
                       url->tls_ca != NULL ? "tls_ca" : "tls_cert");
    }
    return status;
}

/* ---- The server --------------------------------------------------------- */

static struct pg_conn *start(const struct hf_pg_target *target,
                             const struct hf_pg_keyword *more, unsigned n_more)
{
    unsigned most = target->n + n_more + 1;
    const char **names = calloc(most, sizeof(*names));
    const char **values = calloc(most, sizeof(*values));
    struct pg_conn *conn = NULL;
    if (names != NULL && values != NULL) {
        unsigned n = 0;
        for (unsigned i = 0; i < target->n; i++, n++) {
            names[n] = target->keywords[i].name;
            values[n] = target->keywords[i].value;
        }
        for (unsigned i = 0; i < n_more; i++, n++) {
            names[n] = more[i].name; /* the last value of a keyword counts */
            values[n] = more[i].value;
        }
        conn = PQconnectStartParams(names, values, 0);
    }
    free(names);
    free(values);
    return conn;
}

static const char *value_of(const PQconninfoOption *all, const char *name)
{
    for (; all != NULL && all->keyword != NULL; all++) {
        if (strcmp(all->keyword, name) == 0 && all->val != NULL) {
            return all->val;
        }
    }
    return "";
}

static bool parse_port(const char *text, uint16_t *out)
{
    size_t len = strspn(text, "0123456789");
    unsigned long port = strtoul(text, NULL, 10);
    *out = (uint16_t)port;
    return text[len] == '\0' && len > 0 && len <= 5 && port > 0 &&
           port <= UINT16_MAX;
}

static enum hf_status take_server(struct hf_pg_target *target, const char *host,
                                  const char *port, struct hf_error *error)
{
    if (!parse_port(port, &target->port)) {
        return hf_fail(error, HF_CONFIG,
                       "the port of a server is 1 to 65535, not \"%.20s\"",
                       port);
    }
    target->host = strdup(host);
    snprintf(target->shown, sizeof(target->shown),
             host[0] == '/'              ? "%.100s/.s.PGSQL.%u"
             : strchr(host, ':') != NULL ? "[%.100s]:%u"
                                         : "%.100s:%u",
             host, (unsigned)target->port);
    hf_error_make_plain(target->shown);
    return target->host == NULL ? hf_fail_memory(error) : HF_OK;
}

/* The settings that libpq derives from keywords, environment and service file.
 * It has no function for that; but a connection that is refused for one keyword
 * before any other step has its settings. */
static enum hf_status find_server(struct hf_pg_target *target,
                                  struct hf_error *error)
{
    struct hf_pg_keyword wrong = {(char *)(uintptr_t) "channel_binding",
                                  (char *)(uintptr_t) "?"};
    struct pg_conn *conn = start(target, &wrong, 1);
    if (conn == NULL) {
        return hf_fail_memory(error);
    }
    enum hf_status status = HF_OK;
    PQconninfoOption *all = PQconninfo(conn);
    const char *hostaddr = value_of(all, "hostaddr");
    const char *host = PQhost(conn);
    const char *port = PQport(conn);
    if (strstr(PQerrorMessage(conn), "channel_binding") == NULL) {
        const char *why = PQerrorMessage(conn);
        status =
            hf_fail(error, HF_CONFIG, "%.*s", (int)strcspn(why, "\n"), why);
    } else if (all == NULL || host == NULL || port == NULL) {
        status = hf_fail_memory(error);
    } else if (strchr(value_of(all, "host"), ',') != NULL ||
               strchr(hostaddr, ',') != NULL) {
        status = hf_fail(error, HF_UNSUPPORTED,
                         "several hosts in one PostgreSQL URL are not part of "
                         "this version: name one server");
    } else {
        target->is_direct =
            hostaddr[0] != '\0' || host[0] == '/' || host[0] == '@';
        status = take_server(target, host, port, error);
    }
    PQconninfoFree(all);
    PQfinish(conn);
    return status;
}

enum hf_status hf_pg_target_init(struct hf_pg_target *target,
                                 const struct hf_url *url,
                                 struct hf_error *error)
{
    static const struct {
        const char *name, *variable, *value;
    } ours[] = {
        {"fallback_application_name", NULL, "holdfast"},
        /* GSS may look names up, and block. */
        {"gssencmode", "PGGSSENCMODE", "disable"},
        /* As all connections of the library: dead after 30 s of silence and
         * four probes, 10 s apart, so after 70 s. */
        {"keepalives_idle", NULL, "30"},
        {"keepalives_interval", NULL, "10"},
        {"keepalives_count", NULL, "4"},
    };
    memset(target, 0, sizeof(*target));
    enum hf_status status = read_address(target, url->address, error);
    if (status == HF_OK) {
        status = read_parameters(target, url, error);
    }
    if (status == HF_OK && url->password != NULL) {
        status = set(target, "password", url->password, error);
    }
    for (size_t i = 0; status == HF_OK && i < sizeof(ours) / sizeof(ours[0]);
         i++) {
        status = set_default(target, ours[i].name, ours[i].variable,
                             ours[i].value, error);
    }
    return status == HF_OK ? find_server(target, error) : status;
}

void hf_pg_target_fini(struct hf_pg_target *target)
{
    for (unsigned i = 0; i < target->n; i++) {
        free(target->keywords[i].name);
        hf_secret_free(target->keywords[i].value);
    }
    free(target->keywords);
    free(target->host);
    memset(target, 0, sizeof(*target));
}

/* ---- Connecting --------------------------------------------------------- */

/* "10.0.0.1,10.0.0.2" and "db,db": libpq tries each. */
static void list_addresses(const struct hf_pg_target *target,
                           const struct hf_addresses *from, unsigned first,
                           char hosts[LIST_MAX], char list[LIST_MAX])
{
    size_t n_hosts = 0, n_list = 0, len = strlen(target->host);
    hosts[0] = list[0] = '\0';
    for (unsigned i = 0; i < from->n; i++) {
        const struct hf_address *at = &from->list[(first + i) % from->n];
        char text[HF_TEXT_PHRASE];
        if (getnameinfo((const struct sockaddr *)&at->sockaddr, at->len, text,
                        sizeof(text), NULL, 0, NI_NUMERICHOST) != 0 ||
            n_hosts + len + 2 > LIST_MAX ||
            n_list + strlen(text) + 2 > LIST_MAX) {
            continue;
        }
        const char *comma = n_list > 0 ? "," : "";
        n_hosts += (size_t)snprintf(hosts + n_hosts, LIST_MAX - n_hosts, "%s%s",
                                    comma, target->host);
        n_list += (size_t)snprintf(list + n_list, LIST_MAX - n_list, "%s%s",
                                   comma, text);
    }
}

static void add(struct hf_pg_keyword *list, unsigned *n, const char *name,
                const char *value)
{
    list[(*n)++] = (struct hf_pg_keyword){(char *)(uintptr_t)name,
                                          (char *)(uintptr_t)value};
}

struct pg_conn *hf_pg_target_connect(const struct hf_pg_target *target,
                                     const struct hf_addresses *addresses,
                                     unsigned first, const char *user,
                                     const char *password)
{
    struct hf_pg_keyword more[OWN_KEYWORDS];
    char hosts[LIST_MAX], list[LIST_MAX];
    unsigned n = 0;
    add(more, &n, "client_encoding", "UTF8");
    if (user != NULL) {
        add(more, &n, "user", user);
    }
    if (password != NULL) {
        add(more, &n, "password", password);
    }
    if (addresses != NULL) {
        list_addresses(target, addresses, first, hosts, list);
        add(more, &n, "host", hosts);
        add(more, &n, "hostaddr", list);
    }
    return start(target, more, n);
}
