/* SPDX-License-Identifier: Apache-2.0 */
/* The home folder of the effective user in the password database: the same in a
 * login shell, in cron, in a service and under sudo, since no variable is read.
 */
#ifndef HF_IO_HOME_H
#define HF_IO_HOME_H

#include <stddef.h>

/** Look it up. Blocks: the database may be a server's.
 *
 * @param out  the entry's path as it is, which may be empty or relative
 * @return 0; ENOENT: the user has no entry; ENAMETOOLONG; or the errno of the
 * lookup: whether there is an entry is then unknown. */
int hf_home_find(char *out, size_t size);

#endif
