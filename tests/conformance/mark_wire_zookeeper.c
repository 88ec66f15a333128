/* SPDX-License-Identifier: Apache-2.0 */
/* Marks on the wire to a real server: mark_wire.h. */
/* library: store-zookeeper-objects */
#include "store/zookeeper/zookeeper.h"

#include "mark_wire.h"

int main(void)
{
    return mark_wire_main(&hf_store_zookeeper);
}
