/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of store URLs:
 *
 *     URLS   = URL { blanks URL }              several: nodes of one store
 *     URL    = scheme "://" [ user ":" password "@" ] host { "," host }
 *              [ "/" db ] [ "?" parameters ]
 *            | scheme "+unix://" [ user ":" password "@" ] path [ "?" … ]
 *            | "local:" [ [ "//" ] path ] [ "?" parameters ]
 *            | scheme ":" address [ "?" parameters ]       of a module
 *
 * Error texts go to logs. So they never quote the text before '@', nor any text
 * that may be the rest of a password with an unescaped '/', '?' or '@'. */
#include "store/url.h"

#include "base/assert.h"
#include "base/fail.h"
#include "base/secret.h"
#include "store/url_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Schemes ----------------------------------------------------------- */

enum family {
    FAMILY_LOCAL,
    FAMILY_TCP,
    FAMILY_TLS,
    FAMILY_UNIX,
    FAMILY_MODULE, /* any other scheme; registry.c looks for its module */
    FAMILY_LATER
};

/* Bytes: the longest scheme is "redis+sentinel"; a module's is part of a file
 * name. */
#define SCHEME_MAX 15

struct scheme {
    char name[SCHEME_MAX + 1];
    enum family family;
};

static const struct scheme schemes[] = {
    {"local", FAMILY_LOCAL},          {"redis", FAMILY_TCP},
    {"rediss", FAMILY_TLS},           {"redis+unix", FAMILY_UNIX},
    {"valkey", FAMILY_TCP},           {"valkeys", FAMILY_TLS},
    {"valkey+unix", FAMILY_UNIX},     {"redis+sentinel", FAMILY_LATER},
    {"redis+cluster", FAMILY_LATER},  {"valkey+sentinel", FAMILY_LATER},
    {"valkey+cluster", FAMILY_LATER},
};
#define N_SCHEMES (sizeof(schemes) / sizeof(schemes[0]))
#define SCHEMES_OFFERED                                                        \
    "local:, redis://, rediss://, redis+unix://, valkey://, valkeys://, "      \
    "valkey+unix://"

/* RFC 3986: a letter, then letters, digits, '+', '-', '.'. The scheme becomes
 * part of a file's name. */
static bool is_scheme(struct hf_piece name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = (char)(name.at[i] | 0x20);
        bool is_letter = c >= 'a' && c <= 'z';
        bool is_other = (name.at[i] >= '0' && name.at[i] <= '9') ||
                        strchr("+-.", name.at[i]) != NULL;
        if (!is_letter && (i == 0 || !is_other)) {
            return false;
        }
    }
    return name.len > 0 && name.len <= SCHEME_MAX;
}

/* @p rest then begins after the ':'. */
static enum hf_status read_scheme(struct hf_piece *rest, struct scheme *out,
                                  struct hf_error *error)
{
    bool has_rest;
    struct hf_piece name = hf_piece_cut(rest, ':', &has_rest);
    if (!has_rest || !is_scheme(name)) {
        return hf_fail(error, HF_INVALID,
                       "not a store URL: it begins with " SCHEMES_OFFERED
                       " (in a path, write a blank as %%20)");
    }
    *out = (struct scheme){.family = FAMILY_MODULE};
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        out->name[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    for (size_t i = 0; i < N_SCHEMES; i++) {
        if (strcmp(out->name, schemes[i].name) == 0) {
            out->family = schemes[i].family;
        }
    }
    if (out->family == FAMILY_LATER) {
        return hf_fail(error, HF_UNSUPPORTED,
                       "the store \"%s:\" is not part of this version (it "
                       "has " SCHEMES_OFFERED ")",
                       out->name);
    }
    return HF_OK;
}

/* ---- The embedded store ------------------------------------------------ */

static enum hf_status read_local(struct hf_url_parse *parse,
                                 struct hf_piece rest)
{
    struct hf_url *url = parse->url;
    if (rest.len >= 2 && rest.at[0] == '/' && rest.at[1] == '/') {
        rest.at += 2;
        rest.len -= 2;
        if (rest.len == 0) {
            return hf_fail(parse->error, HF_INVALID,
                           "\"local://\" lacks a folder: write local: for the "
                           "default one, or local:///folder");
        }
    }
    if (rest.len == 0) {
        return HF_OK;
    }
    if (rest.at[0] != '/') {
        return hf_fail(parse->error, HF_INVALID,
                       "the folder \"%.*s\" of a local store is relative: "
                       "write local:///folder with its whole path",
                       rest.len > 200 ? 200 : (int)rest.len, rest.at);
    }
    enum hf_status status = hf_piece_decode(rest, "the folder of a local store",
                                            &url->path, parse->error);
    if (status == HF_OK) {
        size_t len = strlen(url->path);
        while (len > 1 && url->path[len - 1] == '/') {
            url->path[--len] = '\0';
        }
    }
    return status;
}

/* ---- A module ---------------------------------------------------------- */

static enum hf_status read_address(struct hf_url_parse *parse,
                                   struct hf_piece rest)
{
    struct hf_url *url = parse->url;
    url->address = strndup(rest.at, rest.len);
    if (url->address == NULL) {
        return hf_fail_memory(parse->error);
    }
    if (parse->password != NULL) {
        url->password = strdup(parse->password);
    }
    return parse->password != NULL && url->password == NULL
               ? hf_fail_memory(parse->error)
               : HF_OK;
}

/* ---- The whole --------------------------------------------------------- */

/* Only Redis servers can be given as several whole URLs. */
static enum hf_status refuse_beside(const char *scheme, struct hf_error *error)
{
    if (strcmp(scheme, "local") == 0) {
        return hf_fail(error, HF_CONFIG,
                       "a local store is one folder on one machine: it cannot "
                       "be given with other URLs (in a path, write a blank as "
                       "%%20)");
    }
    return hf_fail(error, HF_CONFIG,
                   "\"%s:\" cannot be given with other URLs: only servers of "
                   "Redis and Valkey vote together (in a URL, write a blank as "
                   "%%20)",
                   scheme);
}

static enum hf_status read_family(struct hf_url_parse *parse,
                                  const struct scheme *scheme,
                                  struct hf_piece rest)
{
    if (scheme->family == FAMILY_LOCAL) {
        return read_local(parse, rest);
    }
    if (scheme->family == FAMILY_MODULE) {
        return read_address(parse, rest);
    }
    if (rest.len < 2 || rest.at[0] != '/' || rest.at[1] != '/') {
        return hf_fail(parse->error, HF_INVALID,
                       "\"%s:\" is followed by \"//\" and the server",
                       scheme->name);
    }
    rest.at += 2;
    rest.len -= 2;
    if (scheme->family == FAMILY_UNIX) {
        return hf_url_read_socket(parse, rest);
    }
    return hf_url_read_servers(parse, rest, scheme->family == FAMILY_TLS);
}

static enum hf_status read_url(struct hf_url_parse *parse, struct hf_piece rest)
{
    struct scheme scheme = {.family = FAMILY_LATER};
    bool has_query;
    struct hf_url *url = parse->url;
    enum hf_status status = read_scheme(&rest, &scheme, parse->error);
    if (status != HF_OK) {
        return status;
    }
    bool is_first = url->scheme == NULL;
    if (!is_first && url->n_endpoints == 0) {
        return refuse_beside(url->scheme, parse->error);
    }
    if (!is_first &&
        (scheme.family == FAMILY_LOCAL || scheme.family == FAMILY_MODULE)) {
        return refuse_beside(scheme.name, parse->error);
    }
    if (is_first) {
        url->scheme = strdup(scheme.name);
        if (url->scheme == NULL) {
            return hf_fail_memory(parse->error);
        }
    }
    if (hf_piece_has(rest, '#')) {
        return hf_fail(parse->error, HF_INVALID, "a store URL has a '#': %s",
                       HF_URL_ESCAPE_HINT);
    }
    struct hf_piece before = hf_piece_cut(&rest, '?', &has_query);
    if (hf_piece_has(rest, '@')) {
        return hf_fail(parse->error, HF_INVALID,
                       "a store URL has '@' behind '?': %s",
                       HF_URL_ESCAPE_HINT);
    }
    status = read_family(parse, &scheme, before);
    if (status != HF_OK) {
        return status;
    }
    return hf_params_read(&parse->params, rest, url, parse->error);
}

/* ---- Display ----------------------------------------------------------- */

static bool is_same_group(const struct hf_endpoint *a,
                          const struct hf_endpoint *b)
{
    const char *a_user = a->user == NULL ? "" : a->user;
    const char *b_user = b->user == NULL ? "" : b->user;
    return !a->is_unix && !b->is_unix && a->is_tls == b->is_tls &&
           a->db == b->db && strcmp(a_user, b_user) == 0;
}

/* Control characters are escaped, since the text goes to logs. */
static void show_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        fprintf(out, c < ' ' || c == 0x7f ? "%%%02X" : "%c", c);
    }
}

/* Print the scheme and the user, which a group of endpoints shares. */
static void show_group(FILE *out, const struct hf_url *url,
                       const struct hf_endpoint *e)
{
    bool is_valkey = strncmp(url->scheme, "valkey", 6) == 0;
    const char *suffix = e->is_unix ? "+unix" : e->is_tls ? "s" : "";
    fprintf(out, "%s%s://", is_valkey ? "valkey" : "redis", suffix);
    if (e->user != NULL) {
        show_text(out, e->user);
        fputc('@', out);
    }
}

static void show_host(FILE *out, const struct hf_endpoint *e)
{
    bool is_v6 = !e->is_unix && strchr(e->host, ':') != NULL;
    fputs(is_v6 ? "[" : "", out);
    show_text(out, e->host);
    fputs(is_v6 ? "]" : "", out);
    if (!e->is_unix) {
        fprintf(out, ":%u", (unsigned)e->port);
    }
}

static void show_endpoint(FILE *out, const struct hf_url *url, unsigned i)
{
    const struct hf_endpoint *e = &url->endpoints[i];
    if (i > 0 && is_same_group(e - 1, e)) {
        fputc(',', out);
    } else {
        fputs(i == 0 ? "" : " ", out);
        show_group(out, url, e);
    }
    show_host(out, e);
    bool is_last = i + 1 == url->n_endpoints || !is_same_group(e, e + 1);
    if (is_last && e->db != 0) {
        fprintf(out, "/%d", e->db);
    }
}

/* The text before the last '@' is a login: print the user only. */
static void show_address(FILE *out, const struct hf_url *url)
{
    const char *at = url->address;
    const char *end = strrchr(at, '@');
    fprintf(out, "%s:", url->scheme);
    if (end != NULL) {
        size_t slashes = strspn(at, "/");
        size_t user = slashes + strcspn(at + slashes, ":@");
        char *login = strndup(at, user);
        show_text(out, login == NULL ? "" : login);
        hf_secret_free(login);
        at = end;
    }
    show_text(out, at);
}

/* The URL as it was parsed, without passwords and parameters. */
static char *show(const struct hf_url *url)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    if (out == NULL) {
        return NULL;
    }
    if (url->address != NULL) {
        show_address(out, url);
    } else if (url->n_endpoints == 0) {
        fputs(url->path == NULL ? "local:" : "local://", out);
        show_text(out, url->path == NULL ? "" : url->path);
    }
    for (unsigned i = 0; i < url->n_endpoints; i++) {
        show_endpoint(out, url, i);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* ---- All URLs ---------------------------------------------------------- */

static struct hf_url *url_new(void)
{
    struct hf_url *url = calloc(1, sizeof(*url));
    if (url == NULL) {
        return NULL;
    }
    url->connect_timeout_ms = HF_CONNECT_TIMEOUT_MS_DEFAULT;
    url->node_timeout_ms = HF_NODE_TIMEOUT_MS_DEFAULT;
    url->fence_keep_ms = HF_FENCE_KEEP_MS_DEFAULT;
    url->max_ttl_ms = HF_MAX_TTL_MS_DEFAULT;
    url->quarantine = true;
    url->prefix = strdup("lock:");
    if (url->prefix == NULL) {
        free(url);
        return NULL;
    }
    return url;
}

static enum hf_status read_all(struct hf_url_parse *parse, const char *text)
{
    static const char blanks[] = " \t\r\n";
    enum hf_status status = HF_OK;
    text += strspn(text, blanks);
    if (*text == '\0') {
        return hf_fail(parse->error, HF_INVALID, "the store URL is empty");
    }
    while (status == HF_OK && *text != '\0') {
        struct hf_piece one = {text, strcspn(text, blanks)};
        status = read_url(parse, one);
        text += one.len;
        text += strspn(text, blanks);
    }
    if (status == HF_OK) {
        status = hf_url_check_servers(parse);
    }
    if (status == HF_OK) {
        status = hf_params_complete(&parse->params, parse->url, parse->error);
    }
    return status;
}

enum hf_status hf_url_parse(const char *text, const char *password,
                            struct hf_url **out, struct hf_error *error)
{
    *out = NULL;
    struct hf_url_parse parse = {
        .url = url_new(), .password = password, .error = error};
    if (parse.url == NULL) {
        return hf_fail_memory(error);
    }
    enum hf_status status = read_all(&parse, text == NULL ? "local:" : text);
    if (status == HF_OK) {
        parse.url->display = show(parse.url);
        if (parse.url->display == NULL) {
            status = hf_fail_memory(error);
        }
    }
    if (status != HF_OK) {
        hf_url_free(parse.url);
        return status;
    }
    *out = parse.url;
    return HF_OK;
}

void hf_url_free(struct hf_url *url)
{
    if (url == NULL) {
        return;
    }
    for (unsigned i = 0; i < url->n_endpoints; i++) {
        free(url->endpoints[i].host);
        free(url->endpoints[i].user);
        hf_secret_free(url->endpoints[i].password);
    }
    hf_params_fini(url);
    hf_secret_free(url->address);
    hf_secret_free(url->password);
    free(url->scheme);
    free(url->path);
    free(url->display);
    free(url->prefix);
    free(url->tls_ca);
    free(url->tls_cert);
    free(url->tls_key);
    free(url);
}
