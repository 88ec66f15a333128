/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts end at the first '/', and the login at the first '@' before it. If
 * another '@' is left, the user has written a password with a bare '@' or '/':
 * the address is refused, since the rest of the password would be looked up as
 * a host and shown in messages.
 *
 * Each host is decoded by itself, after the list was cut. */
#include "store/ordered/wire_hosts.h"

#include "base/fail.h"
#include "base/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hf_wire_address_cut(const char *text, struct hf_wire_address *out)
{
    struct hf_piece rest = {text, strlen(text)};
    bool has_path;
    if (strncmp(text, "//", 2) != 0) {
        return false;
    }
    rest.at += 2;
    rest.len -= 2;
    struct hf_piece authority = hf_piece_cut(&rest, '/', &has_path);
    *out = (struct hf_wire_address){.hosts = authority, .path = rest};
    out->login = hf_piece_cut(&authority, '@', &out->has_login);
    if (out->has_login) {
        out->hosts = authority;
    }
    return !hf_piece_has(out->path, '@') &&
           !(out->has_login && hf_piece_has(out->hosts, '@'));
}

/* ---- The login ----------------------------------------------------------- */

/* USER:PASSWORD, or USER where the password comes from elsewhere. */
static enum hf_status cut_login(struct hf_wire_login *out,
                                struct hf_piece login, const struct hf_url *url,
                                struct hf_error *error)
{
    bool has_password;
    struct hf_piece user = hf_piece_cut(&login, ':', &has_password);
    enum hf_status status = HF_OK;
    if (user.len > 0) {
        status = hf_piece_decode(user, "the user", &out->user, error);
    }
    if (status == HF_OK && has_password && url->password == NULL) {
        status = hf_piece_decode(login, "the password", &out->password, error);
    }
    return status;
}

static enum hf_status check_login(struct hf_wire_login *out,
                                  const struct hf_url *url, const char *scheme,
                                  struct hf_error *error)
{
    if (url->password != NULL) {
        out->password = strdup(url->password);
        if (out->password == NULL) {
            return hf_fail_memory(error);
        }
    }
    if (out->user == NULL && out->password != NULL) {
        return hf_fail(error, HF_INVALID,
                       "a password needs a user: write %s://USER@HOST", scheme);
    }
    if (out->user != NULL && out->password == NULL) {
        return hf_fail(error, HF_INVALID,
                       "user %.60s needs a password: write "
                       "%s://USER:PASSWORD@HOST, or name a file with "
                       "HOLDFAST_PASSWORD_FILE",
                       out->user, scheme);
    }
    return HF_OK;
}

enum hf_status hf_wire_login_read(struct hf_wire_login *out,
                                  const struct hf_wire_address *address,
                                  const struct hf_url *url, bool supplies,
                                  const char *scheme, struct hf_error *error)
{
    enum hf_status status = HF_OK;
    if (address->has_login) {
        status = cut_login(out, address->login, url, error);
    }
    return status != HF_OK || supplies ? status
                                       : check_login(out, url, scheme, error);
}

void hf_wire_login_fini(struct hf_wire_login *login)
{
    free(login->user);
    hf_secret_free(login->password);
}

/* ---- Servers ------------------------------------------------------------- */

static enum hf_status read_host(struct hf_wire_host *out, struct hf_piece at,
                                uint16_t port, const char *usage,
                                struct hf_error *error)
{
    struct hf_piece host;
    out->port = port;
    if (!hf_piece_host(at, &host, &out->port) || host.len == 0) {
        return hf_fail(error, HF_INVALID, "%s", usage);
    }
    enum hf_status status =
        hf_piece_decode(host, "the host", &out->host, error);
    if (status == HF_OK) {
        bool is_ipv6 = strchr(out->host, ':') != NULL;
        snprintf(out->shown, sizeof(out->shown),
                 is_ipv6 ? "[%.100s]:%u" : "%.100s:%u", out->host,
                 (unsigned)out->port);
        hf_error_make_plain(out->shown);
    }
    return status;
}

enum hf_status hf_wire_hosts_read(struct hf_wire_host hosts[HF_WIRE_HOSTS_MAX],
                                  unsigned *n, struct hf_piece list,
                                  uint16_t port, const char *usage,
                                  struct hf_error *error)
{
    enum hf_status status = HF_OK;
    bool has_more = true;
    *n = 0;
    while (status == HF_OK && has_more) {
        if (*n == HF_WIRE_HOSTS_MAX) {
            return hf_fail(error, HF_INVALID, "%s", usage);
        }
        status = read_host(&hosts[*n], hf_piece_cut(&list, ',', &has_more),
                           port, usage, error);
        *n += status == HF_OK;
    }
    return status;
}

void hf_wire_hosts_fini(struct hf_wire_host *hosts, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        free(hosts[i].host);
    }
}
