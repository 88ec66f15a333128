/* SPDX-License-Identifier: Apache-2.0 */
#include "io/namespace.h"

#include <errno.h>
#include <stdio.h>

/* Bytes for either path, with a type of at most 10. */
#define PATH_BYTES 40

#define OF_THREAD "/proc/thread-self/ns/%s"

/* For Linux before 3.17. */
#define OF_PROCESS "/proc/self/ns/%s"

int hf_namespace_stat(const char *type, struct stat *out)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), OF_THREAD, type);
    if (stat(path, out) == 0) {
        return 0;
    }
    if (errno != ENOENT) {
        return -1;
    }
    snprintf(path, sizeof(path), OF_PROCESS, type);
    return stat(path, out);
}
