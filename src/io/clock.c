/* SPDX-License-Identifier: Apache-2.0 */
/* Two processes may compare their instants only if they read the same clock.
 * CLOCK_BOOTTIME begins with the boot, and a time namespace moves it by an
 * offset that never changes once a process is inside (time_namespaces(7)): so
 * the clock's name is the boot id and that offset. The namespace's inode is no
 * name: the kernel gives it to the next one, which may have another offset. If
 * /proc hides either, there is no name: that costs a longer quarantine, where a
 * wrong name would end one early.
 *
 * Cost: reading the time is no system call where the kernel's vDSO has the
 * clock. The name takes nine, once when a store is opened. */
#include "io/clock.h"

#include "base/assert.h"
#include "base/text_size.h"
#include "io/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct hf_instant hf_clock_now(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_BOOTTIME, &now);
    HF_ASSERT(failed == 0);
    return (struct hf_instant){(int64_t)now.tv_sec * 1000000000 +
                               (int64_t)now.tv_nsec};
}

/** Open the file of this thread. /proc/self is about the main thread, which has
 * no offsets any more once it has ended; /proc/TID is not listed, but there.
 * @return a descriptor, or -1 with errno. */
static int open_offsets(void)
{
    char thread[HF_TEXT_WORD]; /* "PID/task/TID" */
    char path[HF_TEXT_NAME];
    ssize_t len = readlink("/proc/thread-self", thread, sizeof(thread) - 1);
    if (len < 0) {
        return -1;
    }
    thread[len] = '\0';
    const char *slash = strrchr(thread, '/');
    int all = snprintf(path, sizeof(path), "/proc/%s/timens_offsets",
                       slash == NULL ? thread : slash + 1);
    HF_ASSERT(all > 0 && (size_t)all < sizeof(path));
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Two lines, the first of which is CLOCK_MONOTONIC's. */
static bool parse_offset(const char *text, struct hf_span *out)
{
    static const char name[] = "\nboottime ";
    const char *at = strstr(text, name);
    char *behind_s, *behind_ns;
    if (at == NULL) {
        return false;
    }
    int64_t s = strtoll(at + sizeof(name) - 1, &behind_s, 10);
    int64_t ns = strtoll(behind_s, &behind_ns, 10);
    *out = (struct hf_span){s * 1000000000 + ns};
    return behind_ns > behind_s && *behind_ns == '\n';
}

static int read_offset(struct hf_span *out)
{
    char text[HF_TEXT_SENTENCE];
    int fd = open_offsets();
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    int number = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (len < 0) {
        return number;
    }
    text[len] = '\0';
    return parse_offset(text, out) ? 0 : EBADMSG;
}

/* The file has the offset of the namespace for children: it is ours if the two
 * are one. */
int hf_clock_offset(struct hf_span *out)
{
    struct stat own, childrens;
    *out = (struct hf_span){0};
    if (hf_namespace_stat("time", &own) != 0) {
        return errno == ENOENT && hf_namespace_stat("uts", &own) == 0 ? 0
                                                                      : errno;
    }
    if (hf_namespace_stat("time_for_children", &childrens) != 0) {
        return errno;
    }
    return own.st_ino == childrens.st_ino ? read_offset(out) : EXDEV;
}

bool hf_clock_name(char out[HF_CLOCK_NAME_MAX])
{
    enum { BOOT_ID_LEN = 36 };
    char boot[BOOT_ID_LEN + 1] = "";
    struct hf_span offset;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, boot, BOOT_ID_LEN);
    if (fd >= 0) {
        close(fd);
    }
    if (len != BOOT_ID_LEN ||
        strspn(boot, "0123456789abcdef-") != BOOT_ID_LEN ||
        hf_clock_offset(&offset) != 0) {
        return false;
    }
    snprintf(out, HF_CLOCK_NAME_MAX, "%s/%" PRId64, boot, offset.ns);
    return true;
}

int64_t hf_clock_wall_s(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_REALTIME, &now);
    HF_ASSERT(failed == 0);
    return (int64_t)now.tv_sec;
}

void hf_entropy(void *out, size_t len)
{
    unsigned char *at = out;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0) {
            HF_ASSERT(errno == EINTR);
            continue;
        }
        at += got;
        len -= (size_t)got;
    }
}
