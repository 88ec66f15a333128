/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup */
/* link: -Wl,--wrap=posix_memalign,--wrap=open_memstream,--wrap=free */
/* link: -Wl,--wrap=strndup,--wrap=asprintf,--wrap=dlopen,--wrap=dlsym */
/* link: -Wl,--no-as-needed -lzookeeper_st -Wl,--as-needed */
/* library: store-zookeeper-objects */
/* Allocations that fail: client_memory.h. Those of ZooKeeper's client do not,
 * which would crash: it is linked as a shared library, unlike in the module. */
#include "client_memory.h"

int main(void)
{
    return memory_main();
}
