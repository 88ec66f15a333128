/* SPDX-License-Identifier: Apache-2.0 */
/* DETECTING A FORK
 *
 * If parent and child both used one client, they would write to the same
 * connections and, worse, generate the same owners: a lock with two holders. So
 * the pool of entropy is in a page that the kernel gives to a child as zeros
 * (MADV_WIPEONFORK), and a flag in that page, 1 in the parent, shows a child.
 * If the kernel lacks MADV_WIPEONFORK, the process id is compared.
 *
 * Cost: one load per call, and no system call; without MADV_WIPEONFORK one. */
#include "client/fork.h"

#include "base/assert.h"
#include "io/clock.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* getrandom() up to 256 bytes is never interrupted and never short. */
#define POOL_LEN 256

struct hf_page {
    uint32_t is_parent;
    uint32_t is_wiped_on_fork;
    size_t used;
    unsigned char pool[POOL_LEN];
};

bool hf_page_open(struct hf_client *client)
{
    void *memory = mmap(NULL, sizeof(struct hf_page), PROT_READ | PROT_WRITE,
                        /* cppcheck-suppress invalidFunctionArg; no file */
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    struct hf_page *page = memory;
    page->is_wiped_on_fork =
        madvise(memory, sizeof(*page), MADV_WIPEONFORK) == 0;
    page->is_parent = 1;
    page->used = POOL_LEN;
    client->page = page;
    client->pid = getpid();
    return true;
}

void hf_page_close(struct hf_client *client)
{
    if (client->page != NULL) {
        explicit_bzero(client->page->pool, POOL_LEN);
        munmap(client->page, sizeof(*client->page));
        client->page = NULL;
    }
}

bool hf_client_is_forked(const struct hf_client *client)
{
    const struct hf_page *page = client->page;
    if (page->is_parent == 0) {
        return true;
    }
    return page->is_wiped_on_fork == 0 && getpid() != client->pid;
}

void hf_client_entropy(struct hf_client *client, void *out, size_t len)
{
    struct hf_page *page = client->page;
    HF_ASSERT(len <= POOL_LEN && page->used <= POOL_LEN);
    if (len > POOL_LEN - page->used) {
        hf_entropy(page->pool, POOL_LEN);
        page->used = 0;
    }
    memcpy(out, page->pool + page->used, len);
    page->used += len;
}

/* splitmix64; see core/retry.c. */
uint64_t hf_client_random(struct hf_client *client)
{
    client->random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = client->random;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}
