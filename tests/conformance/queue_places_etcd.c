/* SPDX-License-Identifier: Apache-2.0 */
/* Places of waiters at a real server: queue_places.h. */
/* library: store-etcd-objects */
#include "store/etcd/etcd.h"

#include "queue_places.h"

int main(void)
{
    return queue_places_main(&hf_store_etcd);
}
