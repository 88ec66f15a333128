/* SPDX-License-Identifier: Apache-2.0 */
/* Places of waiters at a real server: queue_places.h. */
/* library: store-consul-objects */
#include "store/consul/consul.h"

#include "queue_places.h"

int main(void)
{
    return queue_places_main(&hf_store_consul);
}
