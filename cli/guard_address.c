/* SPDX-License-Identifier: Apache-2.0 */
#include "guard_address.h"

#include "exit_code.h"
#include "io/secret_file.h"
#include "message.h"
#include "password.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- A URL in pieces --------------------------------------------------- */

static struct cli_guard_piece piece_of(char *at, size_t len)
{
    return (struct cli_guard_piece){.at = at, .len = len};
}

static void split_host(struct cli_guard_address *address, char *at, size_t len)
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

void cli_guard_split(struct cli_guard_address *address, char *url)
{
    char *at = strstr(url, "://");
    *address =
        (struct cli_guard_address){.scheme = piece_of(url, (size_t)(at - url))};
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

bool cli_guard_next(struct cli_guard_piece *query, struct cli_guard_piece *name,
                    struct cli_guard_piece *value)
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

bool cli_guard_piece_is(const struct cli_guard_piece *piece, const char *text)
{
    return piece->len == strlen(text) &&
           memcmp(piece->at, text, piece->len) == 0;
}

/* ---- Words ------------------------------------------------------------- */

static void hide(struct cli_guard_piece *secret)
{
    if (secret->at != NULL) {
        memset(secret->at, '*', secret->len);
    }
}

/* What stands behind the host, or is a password with a / or a ? in it. */
static bool is_unclear(const char *url)
{
    const char *at = strstr(url, "://") + strlen("://");
    return strchr(at + strcspn(at, "/?"), '@') != NULL;
}

void cli_guard_hide(char *url)
{
    if (strstr(url, "://") == NULL) {
        return;
    }
    if (is_unclear(url)) {
        char *at = strstr(url, "://") + strlen("://");
        memset(at, '*', strlen(at));
        return;
    }
    cli_password_hide(url);
}

int cli_guard_check(char *url)
{
    return is_unclear(url)
               ? cli_guard_refuse(url, "write a / in the login as %2F, a ? as "
                                       "%3F, and an @ behind the host as %40")
               : 0;
}

int cli_guard_refuse(char *target, const char *reason)
{
    struct cli_out out;
    cli_guard_hide(target);
    cli_message_begin(&out);
    cli_out_text(&out, "guard: --install ");
    (void)cli_out_shown(&out, target, strlen(target));
    cli_out_text(&out, ": ");
    cli_out_text(&out, reason);
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

char *cli_guard_keep(struct cli_guard_client *client, const char *before,
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
                    const struct cli_guard_piece *piece)
{
    char *text = cli_guard_keep(client, before, piece->at, piece->len);
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

char *cli_guard_decode(struct cli_guard_client *client,
                       const struct cli_guard_piece *piece)
{
    return decode(client, "", piece);
}

bool cli_guard_add(struct cli_guard_client *client, const char *before,
                   const struct cli_guard_piece *piece)
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

bool cli_guard_add_two(struct cli_guard_client *client, const char *option,
                       const struct cli_guard_piece *piece)
{
    if (piece->at != NULL && piece->len > 0) {
        cli_guard_client_add(client, option);
    }
    return cli_guard_add(client, "", piece);
}

bool cli_guard_take_password(struct cli_guard_client *client, const char *name,
                             struct cli_guard_piece *password)
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

/* ---- TLS, as the URLs of stores say it ---------------------------------- */

/* Client programs name neither a file that they cannot read nor one that all
 * users may. @return NULL, or the reason. */
static const char *file_reason(const char *path, bool is_key)
{
    struct stat about;
    if (access(path, R_OK) != 0) {
        return cli_message_of(errno);
    }
    bool is_exposed =
        is_key && stat(path, &about) == 0 && hf_secret_file_is_exposed(&about);
    return is_exposed ? HF_SECRET_FILE_EXPOSED : NULL;
}

static int refuse_file(const char *name, const char *path, const char *reason)
{
    struct cli_out out;
    cli_message_begin(&out);
    cli_out_text(&out, "guard: --install: ");
    cli_out_text(&out, name);
    cli_out_text(&out, " ");
    (void)cli_out_shown(&out, path, strlen(path));
    cli_out_text(&out, ": ");
    cli_out_text(&out, reason);
    return cli_message_end(&out, CLI_EXIT_CONFIG);
}

static const char **file_of(struct cli_guard_tls *tls,
                            const struct cli_guard_piece *name)
{
    return cli_guard_piece_is(name, "tls_ca")     ? &tls->ca
           : cli_guard_piece_is(name, "tls_cert") ? &tls->cert
           : cli_guard_piece_is(name, "tls_key")  ? &tls->key
                                                  : NULL;
}

static int check_files(const struct cli_guard_tls *tls)
{
    static const char *const names[] = {"tls_ca", "tls_cert", "tls_key"};
    const char *const files[] = {tls->ca, tls->cert, tls->key};
    for (size_t i = 0; i < 3; i++) {
        const char *reason =
            files[i] == NULL ? NULL : file_reason(files[i], i == 2);
        if (reason != NULL) {
            return refuse_file(names[i], files[i], reason);
        }
    }
    return 0;
}

int cli_guard_read_tls(struct cli_guard_client *client, char *target,
                       struct cli_guard_piece *query, struct cli_guard_tls *out)
{
    struct cli_guard_piece name, value;
    *out = (struct cli_guard_tls){.ca = NULL};
    while (cli_guard_next(query, &name, &value)) {
        const char **file = file_of(out, &name);
        if (file == NULL || value.len == 0) {
            return cli_guard_refuse(target, CLI_GUARD_TLS_NAMES);
        }
        if (*file != NULL) {
            return cli_guard_refuse(target, "a parameter is there twice");
        }
        *file = cli_guard_decode(client, &value);
        if (*file == NULL) {
            return cli_guard_refuse(target, CLI_GUARD_BAD_URL);
        }
    }
    if ((out->cert == NULL) != (out->key == NULL)) {
        return cli_guard_refuse(target, "tls_cert and tls_key belong together");
    }
    return check_files(out);
}
