/* SPDX-License-Identifier: Apache-2.0 */
/* Two processes may compare their instants only if they read the same clock.
 * CLOCK_BOOTTIME begins with the boot, and a time namespace moves it
 * (time_namespaces(7)): so the clock's name is the boot id and that namespace.
 * If /proc hides either, there is no name: that costs a longer quarantine,
 * where a wrong name would end one early.
 *
 * Cost: reading the time is no system call where the kernel's vDSO has the
 * clock. The name takes four, once when a store is opened. */
#include "io/clock.h"

#include "base/assert.h"
#include "base/text_size.h"
#include "io/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
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

/** "time:[4026531834]", or "-" before Linux 5.6, which has no time namespaces.
 * @return false: /proc is hidden. */
static bool read_time_namespace(char *out, size_t size)
{
    char other[HF_TEXT_NAME];
    ssize_t len = hf_namespace_name("time", out, size - 1);
    if (len > 0 && (size_t)len < size - 1) {
        out[len] = '\0';
        return true;
    }
    snprintf(out, size, "-");
    return len < 0 && errno == ENOENT &&
           hf_namespace_name("uts", other, sizeof(other)) > 0;
}

bool hf_clock_name(char out[HF_CLOCK_NAME_MAX])
{
    enum { BOOT_ID_LEN = 36 };
    char boot[BOOT_ID_LEN + 1] = "";
    char space[HF_TEXT_NUMBER];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, boot, BOOT_ID_LEN);
    if (fd >= 0) {
        close(fd);
    }
    if (len != BOOT_ID_LEN ||
        strspn(boot, "0123456789abcdef-") != BOOT_ID_LEN ||
        !read_time_namespace(space, sizeof(space))) {
        return false;
    }
    snprintf(out, HF_CLOCK_NAME_MAX, "%s/%s", boot, space);
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
