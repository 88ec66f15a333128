/* SPDX-License-Identifier: Apache-2.0 */
/* USER AND PASSWORD
 *
 *     opened ──▶ authenticate(user, password) ──▶ token ──▶ handshake
 *     a request, or a watch, is refused: the token has expired
 *            ──▶ authenticate, on the same connection ──▶ handshake ──▶ READY
 *
 * etcd forgets a token that a member has not seen for --auth-token-ttl, when a
 * member restarts, and when the user's password changes. It then
 * refuses each request before it is executed, so each is UNSENT, and is asked
 * for again. Requests written after it on the connection are refused the same
 * way, before the reply to the login comes. A watch that was refused begins
 * again where it would have begun. Streams that are open go on: etcd looks at
 * the token when a watch is created.
 *
 * Each connection logs in for itself: tokens are kept by members, and a member
 * counts the time since it was used there. Cost: one round trip and one bcrypt
 * at the server.
 *
 * The password is copied into the body of the request alone, which is wiped, as
 * the connection's output is once it is written. */
#include "store/etcd/etcd.h"

#include "base/fail.h"
#include "base/secret.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tokens in a row that may be refused before one is accepted. One can expire
 * between the login and its first use; the tokens of a member that accepts none
 * of its own would be asked for without end. */
#define EXPIRED_MAX 3

/* Bytes: a token is a random text of 30, or a JWT of some hundred. */
#define TOKEN_MAX 8192

bool hf_etcd_login_is_set(const struct hf_etcd *etcd)
{
    return etcd->login.password != NULL || etcd->node.ordered.env.login != NULL;
}

void hf_etcd_login_reset(struct hf_etcd *etcd)
{
    hf_secret_free(etcd->headers);
    etcd->headers = NULL;
}

/* ---- Asking -------------------------------------------------------------- */

/* A JSON string; each byte becomes six at most. */
static char *say_string(char *at, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    *at++ = '"';
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < ' ' || byte == '"' || byte == '\\') {
            at = stpcpy(at, "\\u00");
            *at++ = hex[byte >> 4];
            *at++ = hex[byte & 15];
        } else {
            *at++ = (char)byte;
        }
    }
    *at++ = '"';
    return at;
}

/* In one piece: a buffer that grows leaves copies behind. */
static bool post(struct hf_etcd *etcd, const char *user, const char *password,
                 struct hf_instant now)
{
    size_t size = 64 + 6 * (strlen(user) + strlen(password));
    char *body = malloc(size);
    if (body == NULL) {
        return false;
    }
    char *at = say_string(stpcpy(body, "{\"name\":"), user);
    at = say_string(stpcpy(at, ",\"password\":"), password);
    at = stpcpy(at, "}");
    struct hf_http_request request = {
        .method = "POST",
        .path = "/v3/auth/authenticate",
        .headers = HF_ETCD_HEADERS_PLAIN,
        .body = body,
        .body_len = (size_t)(at - body),
        .timeout = etcd->node.connect_timeout,
        .cookie = HF_ETCD_LOG_IN,
    };
    bool is_asked = hf_http_ask(&etcd->node.http, &request, now);
    explicit_bzero(body, size);
    free(body);
    return is_asked;
}

static void ask_with(struct hf_etcd *etcd, const struct hf_login *login,
                     struct hf_instant now)
{
    const char *user = login->user != NULL ? login->user : etcd->login.user;
    const char *password =
        login->password != NULL ? login->password : etcd->login.password;
    if (password == NULL) {
        hf_endpoints_fail(&etcd->node, HF_DENIED,
                          "the program supplied no password (hf_login_set())");
        return;
    }
    if (user == NULL) {
        hf_endpoints_fail(&etcd->node, HF_CONFIG,
                          "a password needs a user: write etcd://USER@HOST");
        return;
    }
    snprintf(etcd->user_shown, sizeof(etcd->user_shown), "%s", user);
    hf_error_make_plain(etcd->user_shown);
    if (login->has_failed || !post(etcd, user, password, now)) {
        hf_endpoints_fail(&etcd->node, HF_NO_MEMORY, "out of memory");
    }
}

void hf_etcd_login_ask(struct hf_etcd *etcd, struct hf_instant now)
{
    const struct hf_store_env *env = &etcd->node.ordered.env;
    struct hf_login login = {.address = hf_endpoints_shown(&etcd->node)};
    if (env->login != NULL) {
        env->login(env->client, &login);
    }
    ask_with(etcd, &login, now);
    hf_secret_free(login.user);
    hf_secret_free(login.password);
}

void hf_etcd_login_renew(struct hf_etcd *etcd, struct hf_instant now)
{
    if (etcd->node.phase != HF_ENDPOINTS_READY) {
        return; /* under way, or the next connection does */
    }
    if (++etcd->n_expired > EXPIRED_MAX) {
        hf_endpoints_fail(&etcd->node, HF_DENIED,
                          "refuses the tokens of its own logins");
        return;
    }
    etcd->node.phase = HF_ENDPOINTS_LOGGING_IN;
    hf_etcd_login_ask(etcd, now);
    hf_ordered_down(&etcd->node.ordered, true, HF_UNAVAILABLE,
                    "the login has expired");
}

/* ---- The reply ----------------------------------------------------------- */

/* It becomes a header: nothing in it may end that. */
static bool is_token(const char *text)
{
    size_t len = 0;
    while (text[len] > ' ' && text[len] < 0x7f) {
        len++;
    }
    return len > 0 && len <= TOKEN_MAX && text[len] == '\0';
}

static bool keep_token(struct hf_etcd *etcd, const char *token)
{
    static const char format[] = HF_ETCD_HEADERS_PLAIN "Authorization: %s\r\n";
    size_t size = sizeof(format) + strlen(token);
    hf_etcd_login_reset(etcd);
    etcd->headers = malloc(size);
    if (etcd->headers != NULL) {
        snprintf(etcd->headers, size, format, token);
    }
    return etcd->headers != NULL;
}

static void explain_refusal(struct hf_etcd *etcd, char *out, size_t size)
{
    if (strstr(etcd->node.why, "not enabled") != NULL) {
        snprintf(out, size,
                 "authentication is not enabled there: leave user and password "
                 "out, or enable it (etcdctl auth enable)");
        return;
    }
    if (strstr(etcd->node.why, "CommonName") != NULL) {
        snprintf(out, size, "%s", etcd->node.why);
        return;
    }
    static const char own[] = "etcdserver: ";
    bool is_own = strncmp(etcd->node.why, own, sizeof(own) - 1) == 0;
    snprintf(out, size, "user %s: %.100s", etcd->user_shown,
             etcd->node.why + (is_own ? sizeof(own) - 1 : 0));
}

void hf_etcd_login_take(struct hf_etcd *etcd, const struct json_t *body,
                        struct hf_instant now)
{
    char why[sizeof(etcd->node.why)];
    const char *token = json_string_value(json_object_get(body, "token"));
    if (etcd->node.phase != HF_ENDPOINTS_LOGGING_IN) {
        return; /* it breaks */
    }
    if (body == NULL) {
        explain_refusal(etcd, why, sizeof(why));
        hf_endpoints_fail(&etcd->node, HF_DENIED, why);
    } else if (token == NULL || !is_token(token)) {
        hf_endpoints_fail(&etcd->node, HF_UNAVAILABLE,
                          "its login gives no token");
    } else if (!keep_token(etcd, token)) {
        hf_endpoints_fail(&etcd->node, HF_NO_MEMORY, "out of memory");
    } else {
        hf_etcd_node_greet(etcd, now);
    }
}

/* ---- Refusals ------------------------------------------------------------ */

/* "revision of auth store is old": a right of any user was changed after the
 * token was made. Both come before a request is executed. */
bool hf_etcd_login_is_expired(const struct hf_etcd *etcd, const char *text)
{
    return etcd->headers != NULL && text != NULL &&
           (strstr(text, "invalid auth token") != NULL ||
            strstr(text, "revision of auth store is old") != NULL);
}

void hf_etcd_login_explain(struct hf_etcd *etcd)
{
    bool is_denied = strstr(etcd->node.why, "permission denied") != NULL;
    if (strstr(etcd->node.why, "user name is empty") != NULL ||
        (is_denied && etcd->headers == NULL)) {
        snprintf(etcd->node.why, sizeof(etcd->node.why),
                 "wants a login: write etcd://USER:PASSWORD@HOST, or "
                 "etcd://USER@HOST and HOLDFAST_PASSWORD_FILE=FILE");
    } else if (is_denied) {
        snprintf(etcd->node.why, sizeof(etcd->node.why),
                 "user %.30s may not use the keys: etcdctl role "
                 "grant-permission --prefix=true ROLE readwrite '%.60s'",
                 etcd->user_shown, etcd->prefix);
        hf_error_make_plain(etcd->node.why);
    }
}

/* With --client-cert-auth and authentication, a member answers nothing to a
 * client whose certificate names a user: that user would not count. */
bool hf_etcd_login_note_certificate(struct hf_etcd *etcd, const char *body)
{
    bool is_refused = strstr(body, "CommonName of client") != NULL;
    if (is_refused) {
        snprintf(etcd->node.why, sizeof(etcd->node.why),
                 "its gateway refuses a client certificate with a CommonName "
                 "where authentication is enabled: use one without");
    }
    return is_refused;
}
