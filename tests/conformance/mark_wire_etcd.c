/* SPDX-License-Identifier: Apache-2.0 */
/* Marks on the wire to a real server: mark_wire.h. */
/* library: store-etcd-objects */
#include "store/etcd/etcd.h"

#include "mark_wire.h"

int main(void)
{
    return mark_wire_main(&hf_store_etcd);
}
