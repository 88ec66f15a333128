/* SPDX-License-Identifier: Apache-2.0 */
/* --wrap does not reach a module. So the store of one is linked into each
 * program that makes calls fail, and this replaces its module. The rest of the
 * way to a module, its path and its checks, is walked.
 * The program is linked with --wrap=dlopen and --wrap=dlsym; one program
 * includes this file. */
#ifndef CLIENT_LINKED_H
#define CLIENT_LINKED_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Of the store; absent in a build without its library. */
extern char hf_store_module __attribute__((weak));

void *__real_dlopen(const char *path, int flags);
void *__real_dlsym(void *module, const char *name);
void *__wrap_dlopen(const char *path, int flags);
void *__wrap_dlsym(void *module, const char *name);

static char linked_handle;
static bool linked_is_used; /* a URL has named the store */

void *__wrap_dlopen(const char *path, int flags)
{
    bool is_linked = &hf_store_module != NULL && path != NULL &&
                     strstr(path, "/store-") != NULL;
    linked_is_used |= is_linked;
    return is_linked ? &linked_handle : __real_dlopen(path, flags);
}

void *__wrap_dlsym(void *module, const char *name)
{
    return module == &linked_handle ? &hf_store_module
                                    : __real_dlsym(module, name);
}

/* Else nothing of the store would fail, and every case would pass. */
static inline bool linked_is_right(const char *url)
{
    return strncmp(url, "local", 5) == 0 || strncmp(url, "redis", 5) == 0 ||
           linked_is_used;
}

#endif
