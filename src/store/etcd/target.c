/* SPDX-License-Identifier: Apache-2.0 */
/* etcd://[USER[:PASSWORD]@]HOST[:PORT],HOST,…[/] */
#include "base/fail.h"
#include "store/etcd/etcd.h"

/* Of etcd's clients, as registered. */
#define PORT_DEFAULT 2379

static const char usage[] = HF_WIRE_USAGE(
    "an etcd URL", "etcd://HOST:PORT,HOST:PORT,...", "members of one cluster");

static enum hf_status read_address(struct hf_etcd *etcd,
                                   const struct hf_url *url,
                                   struct hf_error *error)
{
    struct hf_wire_address address;
    if (!hf_wire_address_cut(url->address, &address) || address.path.len > 0) {
        return hf_fail(error, HF_INVALID, "%s", usage);
    }
    enum hf_status status = hf_wire_login_read(
        &etcd->login, &address, url, etcd->node.ordered.env.login != NULL,
        HF_ETCD_SCHEME, error);
    return status != HF_OK
               ? status
               : hf_wire_hosts_read(etcd->node.list, &etcd->node.n,
                                    address.hosts, PORT_DEFAULT, usage, error);
}

enum hf_status hf_etcd_target_read(struct hf_etcd *etcd,
                                   const struct hf_url *url,
                                   struct hf_error *error)
{
    enum hf_status status = hf_url_refuse_options(url, error);
    return status == HF_OK ? read_address(etcd, url, error) : status;
}

void hf_etcd_target_fini(struct hf_etcd *etcd)
{
    hf_wire_login_fini(&etcd->login);
    hf_etcd_login_reset(etcd);
}
