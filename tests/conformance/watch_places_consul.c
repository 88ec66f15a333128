/* SPDX-License-Identifier: Apache-2.0 */
/* Places for watches at a real server: watch_places.h. */
/* library: store-consul-objects */
#include "store/consul/consul.h"

#include "watch_places.h"

int main(void)
{
    return watch_places_main(&hf_store_consul);
}
