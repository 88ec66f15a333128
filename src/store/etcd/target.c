/* SPDX-License-Identifier: Apache-2.0 */
/* etcd://[USER[:PASSWORD]@]HOST[:PORT],HOST,…[/] */
#include "base/fail.h"
#include "base/secret.h"
#include "store/etcd/etcd.h"
#include "store/url_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of etcd's clients, as registered. */
#define PORT_DEFAULT 2379

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

static const char usage[] =
    "not an etcd URL: write etcd://HOST:PORT,HOST:PORT,... with up to " TEXT(
        HF_NODES_MAX) " members of one cluster (" HF_URL_ESCAPE_HINT ")";

static enum hf_status refuse_address(struct hf_error *error)
{
    return hf_fail(error, HF_INVALID, "%s", usage);
}

/* USER:PASSWORD, or USER where the password comes from elsewhere. */
static enum hf_status read_login(struct hf_etcd *etcd, struct hf_piece login,
                                 const struct hf_url *url,
                                 struct hf_error *error)
{
    bool has_password;
    struct hf_piece user = hf_piece_cut(&login, ':', &has_password);
    enum hf_status status = HF_OK;
    if (user.len > 0) {
        status = hf_piece_decode(user, "the user", &etcd->user, error);
    }
    if (status == HF_OK && has_password && url->password == NULL) {
        status = hf_piece_decode(login, "the password", &etcd->password, error);
    }
    return status;
}

/* A callback supplies another password at each login, and may supply a user. */
static enum hf_status check_login(struct hf_etcd *etcd,
                                  const struct hf_url *url,
                                  struct hf_error *error)
{
    if (etcd->node.ordered.env.login != NULL) {
        return HF_OK;
    }
    if (url->password != NULL) {
        etcd->password = strdup(url->password);
        if (etcd->password == NULL) {
            return hf_fail_memory(error);
        }
    }
    if (etcd->user == NULL && etcd->password != NULL) {
        return hf_fail(error, HF_INVALID,
                       "a password needs a user: write etcd://USER@HOST");
    }
    if (etcd->user != NULL && etcd->password == NULL) {
        return hf_fail(error, HF_INVALID,
                       "user %.60s needs a password: write "
                       "etcd://USER:PASSWORD@HOST, or name a file with "
                       "HOLDFAST_PASSWORD_FILE",
                       etcd->user);
    }
    return HF_OK;
}

/* //[USER[:PASSWORD]@]HOST,… */
static enum hf_status read_address(struct hf_etcd *etcd,
                                   const struct hf_url *url,
                                   struct hf_error *error)
{
    struct hf_piece rest = {url->address, strlen(url->address)};
    bool has_login, has_path;
    if (strncmp(url->address, "//", 2) != 0) {
        return refuse_address(error);
    }
    rest.at += 2;
    rest.len -= 2;
    struct hf_piece authority = hf_piece_cut(&rest, '/', &has_path);
    struct hf_piece hosts = authority;
    struct hf_piece login = hf_piece_cut(&hosts, '@', &has_login);
    if (rest.len > 0 || (has_login && hf_piece_has(hosts, '@'))) {
        return refuse_address(error); /* else a password would be shown */
    }
    enum hf_status status =
        has_login ? read_login(etcd, login, url, error) : HF_OK;
    if (status == HF_OK) {
        status = check_login(etcd, url, error);
    }
    return status != HF_OK ? status
                           : hf_wire_hosts_read(etcd->node.list, &etcd->node.n,
                                                has_login ? hosts : authority,
                                                PORT_DEFAULT, usage, error);
}

enum hf_status hf_etcd_target_read(struct hf_etcd *etcd,
                                   const struct hf_url *url,
                                   struct hf_error *error)
{
    enum hf_status status = hf_url_refuse_options(url, error);
    if (status == HF_OK) {
        status = read_address(etcd, url, error);
    }
    return status == HF_OK ? hf_endpoints_configure(&etcd->node, url, error)
                           : status;
}

void hf_etcd_target_free(struct hf_etcd *etcd)
{
    hf_endpoints_free(&etcd->node);
    free(etcd->user);
    hf_secret_free(etcd->password);
    hf_etcd_login_forget(etcd);
}
