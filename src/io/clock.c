/* SPDX-License-Identifier: Apache-2.0 */
#include "io/clock.h"

#include "base/assert.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

struct hf_instant hf_clock_now(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_BOOTTIME, &now);
    HF_ASSERT(failed == 0);
    return (struct hf_instant){(int64_t)now.tv_sec * 1000000000 +
                               (int64_t)now.tv_nsec};
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
