/* SPDX-License-Identifier: Apache-2.0 */
/* Standard descriptors that the program was started without. The next file or
 * socket that is opened would become one of them, and what the program prints
 * would go into it.
 *
 *     fd = hf_standard_fds_avoid(socket(...));
 *
 * For files that a library opens:
 *
 *     hf_standard_fds_cover(&fds);     descriptors 0 to 2 that are closed, are
 *     ... open files ...               something that cannot be written to
 *     hf_standard_fds_uncover(&fds);   they are closed again
 *
 * Threads: any. Meanwhile another thread sees them open. */
#ifndef HF_IO_STANDARD_FDS_H
#define HF_IO_STANDARD_FDS_H

/** @return a descriptor of the same file that is none of them; @p fd is closed
 * then. -1, with errno kept, if @p fd is -1, or if there is none. */
int hf_standard_fds_avoid(int fd);

/* Those that were closed, and are occupied now: `n` of them. */
struct hf_standard_fds {
    unsigned n;
    int fds[3];
};

/* Occupy those of 0 to 2 that are closed, so that no file that is opened next
 * gets one of these numbers: a program may write its messages there. */
void hf_standard_fds_cover(struct hf_standard_fds *fds);

/* errno is kept. */
void hf_standard_fds_uncover(const struct hf_standard_fds *fds);

#endif
