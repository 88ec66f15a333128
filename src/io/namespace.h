/* SPDX-License-Identifier: Apache-2.0 */
/* The namespaces of the calling thread. /proc/self is about the main thread: it
 * has none any more once that has ended with pthread_exit(). */
#ifndef HF_IO_NAMESPACE_H
#define HF_IO_NAMESPACE_H

#include <sys/stat.h>

/** stat() of a namespace, which its inode identifies as long as it lasts.
 * @param type  "pid", "net", "time", …
 * @return 0, or -1 with errno; ENOENT: the kernel has none of this type. */
int hf_namespace_stat(const char *type, struct stat *out);

#endif
