/* SPDX-License-Identifier: Apache-2.0 */
/* no_sync COMMAND [ARG...]: run it; for it and for its children a sync to disk
 * succeeds at once. Tests that share a disk wait for each other's syncs: 300 ms
 * for each make a request to Consul last longer than its timeout. What a killed
 * process has written is there; what a machine has written that lost its power
 * is not, and no test asks.
 *
 * Where the kernel knows no filters, COMMAND runs with its syncs. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/** A call of this number returns 0, without the kernel's doing anything. */
#define SUCCEEDS(number)                                                       \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                       \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO)

/* The numbers are those of this program's own architecture: a 32-bit program on
 * a 64-bit kernel has others, and the tests start none. */
static struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    SUCCEEDS(SYS_fsync),
    SUCCEEDS(SYS_fdatasync),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

/** Without SPEC_ALLOW an older kernel slows down what has a filter. */
static long install(void)
{
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]),
                                 .filter = filter};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                   SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: no_sync COMMAND [ARG...]\n", stderr);
        return 64;
    }
    /* Without privileges a filter asks for a promise not to gain any. */
    if (install() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        (void)install();
    }
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
