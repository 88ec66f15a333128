/* SPDX-License-Identifier: Apache-2.0 */
/* libmariadb has one number for all that goes wrong with TLS, and the texts of
 * OpenSSL. A text that is not recognised is passed on as it is. */
#include "store/mysql/opening.h"

#include "io/socket.h"

#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef ER_SECURE_TRANSPORT_REQUIRED
#define ER_SECURE_TRANSPORT_REQUIRED 3159 /* MySQL's number */
#endif

/* MySQL's numbers of an account that may not log in. MariaDB has others. */
#define MYSQL_ACCOUNT_LOCKED 3118
#define MYSQL_ACCOUNT_BLOCKED 3955 /* too many wrong passwords */

static enum hf_status status_of(unsigned error)
{
    switch (error) {
    case ER_ACCESS_DENIED_ERROR:
    case ER_ACCESS_DENIED_NO_PASSWORD_ERROR:
    case ER_DBACCESS_DENIED_ERROR:
    case ER_HOST_NOT_PRIVILEGED:
    case ER_MUST_CHANGE_PASSWORD_LOGIN:
    case ER_ACCOUNT_HAS_BEEN_LOCKED:
    case ER_USER_IS_BLOCKED:
    case MYSQL_ACCOUNT_LOCKED:
    case MYSQL_ACCOUNT_BLOCKED:
    case ER_PLUGIN_IS_NOT_LOADED: /* of the account's logins */
    case ER_SECURE_TRANSPORT_REQUIRED:
    case CR_AUTH_PLUGIN_CANNOT_LOAD:
    case CR_AUTH_PLUGIN_ERR:
        return HF_DENIED;
    case ER_BAD_DB_ERROR:
        return HF_CONFIG;
    case CR_OUT_OF_MEMORY:
        return HF_NO_MEMORY;
    default:
        return HF_UNAVAILABLE;
    }
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* ---- TLS ----------------------------------------------------------------- */

/* Advice on a refused certificate, as in io/tls_module.c. */
static const char *remedy(const char *why)
{
    if (has(why, "self-signed") || has(why, "self signed") ||
        has(why, "issuer certificate") || has(why, "first certificate") ||
        has(why, "NOT trusted")) {
        return ": name its authority with tls_ca";
    }
    return has(why, "expired") ? ": renew it at the server" : "";
}

static void explain_tls(const struct hf_mysql_target *target, const char *why,
                        char *out, size_t size)
{
    const char *text = strstr(why, "error: ");
    text = text == NULL ? why : text + strlen("error: ");
    if (has(text, "does not support")) {
        snprintf(out, size,
                 "offers no TLS: give it a certificate, or write "
                 "mysql:// if the network is your own");
    } else if (has(text, "alert")) {
        snprintf(out, size, "TLS: the server %s: %s",
                 target->tls_cert != NULL
                     ? "refuses the certificate of tls_cert"
                     : "ends the handshake (does it want tls_cert?)",
                 text);
    } else if (has(text, "Validation of") ||
               has(text, "Hostname verification")) {
        snprintf(out, size,
                 "TLS: the server's certificate is refused: it is of "
                 "another host: write a host that the certificate "
                 "names");
    } else if (has(text, "ertificate")) {
        snprintf(out, size, "TLS: the server's certificate is refused: %s%s",
                 text, remedy(text));
    } else {
        snprintf(out, size, "TLS: the handshake failed: %s", text);
    }
}

/* In TLS 1.3 the server checks our certificate after our handshake has ended,
 * and then closes the connection. */
static bool ends_at_login(const struct hf_mysql_target *target, const char *why)
{
    return target->tls_cert != NULL &&
           (has(why, "authentication") || has(why, "authorization"));
}

/* ---- All ----------------------------------------------------------------- */

/* "Unknown server host 'HOST' (EAI_*)" */
static void explain_host(const char *why, char *out, size_t size)
{
    const char *code = strrchr(why, '(');
    snprintf(out, size, "cannot find the host: %s",
             code == NULL ? why
                          : gai_strerror((int)strtol(code + 1, NULL, 10)));
}

/* A server that demands TLS refuses a login without it like a wrong password.
 */
static bool may_want_tls(const struct hf_mysql_target *target,
                         struct st_mysql *sql, unsigned error)
{
    return target->tls == NULL && target->host != NULL &&
           (sql->server_capabilities & CLIENT_SSL) != 0 &&
           (error == ER_ACCESS_DENIED_ERROR ||
            error == ER_ACCESS_DENIED_NO_PASSWORD_ERROR ||
            error == ER_SECURE_TRANSPORT_REQUIRED);
}

/* libmariadb puts the errno behind the path. */
static bool is_shut_socket(const struct hf_mysql_target *target, unsigned error,
                           const char *why)
{
    return error == CR_CONNECTION_ERROR && target->host == NULL &&
           (has(why, "' (13)") || has(why, "' (1)")); /* EACCES, EPERM */
}

enum hf_status hf_mysql_target_fault(const struct hf_mysql_target *target,
                                     struct st_mysql *sql, char *out,
                                     size_t size)
{
    unsigned error = mysql_errno(sql);
    const char *why = mysql_error(sql);
    if (is_shut_socket(target, error, why)) {
        snprintf(out, size, "%s", HF_SOCKET_NO_PERMISSION);
        return HF_DENIED;
    }
    if (error == CR_SSL_CONNECTION_ERROR) {
        explain_tls(target, why, out, size);
    } else if (error == CR_UNKNOWN_HOST) {
        explain_host(why, out, size);
    } else if (may_want_tls(target, sql, error)) {
        snprintf(out, size,
                 "%.120s; if the server or this account demands TLS, "
                 "write mysqls://",
                 why);
    } else if (error == CR_AUTH_PLUGIN_ERR && target->tls == NULL &&
               target->host != NULL) {
        snprintf(out, size,
                 "%.120s; the password of this account is sent encrypted only: "
                 "write mysqls://",
                 why);
    } else if (error == CR_SERVER_LOST && ends_at_login(target, why)) {
        snprintf(out, size,
                 "the server closed the connection at the login; does "
                 "it trust the certificate of tls_cert?");
    } else {
        snprintf(out, size, "%s", why);
    }
    return status_of(error);
}
