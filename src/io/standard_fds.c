/* SPDX-License-Identifier: Apache-2.0 */
#include "io/standard_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int hf_standard_fds_avoid(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) {
        return fd;
    }
    int other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int error = errno;
    (void)close(fd);
    errno = error;
    return other;
}

/* The lowest that is free is opened first. */
void hf_standard_fds_cover(struct hf_standard_fds *fds)
{
    fds->n = 0;
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            int cover = open("/", O_PATH | O_CLOEXEC);
            if (cover < 0) {
                return; /* then nothing else can be opened, either */
            }
            fds->fds[fds->n++] = cover;
        }
    }
}

void hf_standard_fds_uncover(const struct hf_standard_fds *fds)
{
    int error = errno;
    for (unsigned i = 0; i < fds->n; i++) {
        (void)close(fds->fds[i]);
    }
    errno = error;
}
