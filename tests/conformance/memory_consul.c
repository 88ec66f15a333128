/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup */
/* link: -Wl,--wrap=posix_memalign,--wrap=open_memstream,--wrap=free */
/* link: -Wl,--wrap=strndup,--wrap=asprintf,--wrap=dlopen,--wrap=dlsym */
/* library: store-consul-objects */
/* Allocations that fail: client_memory.h. */
#include "client_memory.h"

int main(void)
{
    return memory_main();
}
