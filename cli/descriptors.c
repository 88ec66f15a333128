/* SPDX-License-Identifier: Apache-2.0 */
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
