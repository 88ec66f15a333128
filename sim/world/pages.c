/* SPDX-License-Identifier: Apache-2.0 */
/* The page of each client (client/fork.c), without the kernel: a world opens
 * and closes dozens of clients, and munmap(), which has to flush the TLB, took
 * a twentieth of a run. A page is all zero when it is handed out, as by mmap().
 * No process of a world forks, so the advice to wipe it has no effect.
 *
 * Linked with --wrap. All other mappings are the kernel's, and all of them
 * under a sanitizer, since an access to a page that was unmapped must fail
 * there. */
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096 /* the kernel's on x86-64 */
#define PAGES_MAX 64    /* more than a world has clients; others use mmap() */

#ifdef HF_SANITIZED
#define HAS_POOL false
#else
#define HAS_POOL true
#endif

void *__real_mmap(void *at, size_t len, int prot, int flags, int fd,
                  off_t offset);
int __real_munmap(void *at, size_t len);
int __real_madvise(void *at, size_t len, int advice);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd,
                  off_t offset);
int __wrap_munmap(void *at, size_t len);
int __wrap_madvise(void *at, size_t len, int advice);

static alignas(PAGE_BYTES) char pages[PAGES_MAX][PAGE_BYTES];
static char *spare[PAGES_MAX]; /* used before */
static size_t n_spare;
static size_t n_used; /* pages from there on were never used */

static bool is_page(const void *at)
{
    const char *byte = at;
    return byte >= pages[0] && byte < (const char *)(pages + PAGES_MAX);
}

static void *take_page(void)
{
    if (n_spare > 0) {
        return memset(spare[--n_spare], 0, PAGE_BYTES);
    }
    return n_used < PAGES_MAX ? pages[n_used++] : NULL;
}

void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd,
                  off_t offset)
{
    void *page = NULL;
    if (HAS_POOL && (flags & (MAP_ANONYMOUS | MAP_SHARED)) == MAP_ANONYMOUS &&
        len <= PAGE_BYTES) {
        page = take_page();
    }
    return page != NULL ? page : __real_mmap(at, len, prot, flags, fd, offset);
}

int __wrap_munmap(void *at, size_t len)
{
    if (!is_page(at)) {
        return __real_munmap(at, len);
    }
    spare[n_spare++] = at;
    return 0;
}

int __wrap_madvise(void *at, size_t len, int advice)
{
    return is_page(at) ? 0 : __real_madvise(at, len, advice);
}
