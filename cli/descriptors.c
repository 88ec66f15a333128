/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor is opened the wrong way round on purpose: stdin for writing,
 * stdout for reading. So reading or writing fails with EBADF, as it would have
 * without it, and its number is taken. open(2) returns the least free number,
 * hence the order from 0 on. Cost: one fcntl() each. */
#include "descriptors.h"

#include <fcntl.h>
#include <unistd.h>

void cli_descriptors_keep(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        int unusable = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(fd, F_GETFD) < 0) {
            (void)open("/dev/null", unusable | O_CLOEXEC);
        }
    }
}
