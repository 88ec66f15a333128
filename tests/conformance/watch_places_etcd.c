/* SPDX-License-Identifier: Apache-2.0 */
/* Places for watches at a real server: watch_places.h. */
/* library: store-etcd-objects */
#include "store/etcd/etcd.h"

#include "watch_places.h"

int main(void)
{
    return watch_places_main(&hf_store_etcd);
}
