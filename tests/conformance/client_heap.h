/* SPDX-License-Identifier: Apache-2.0 */
/* Counts allocations, and makes one fail. The program is linked with --wrap for
 * each function; one program includes this file. */
#ifndef CLIENT_HEAP_H
#define CLIENT_HEAP_H

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
FILE *__real_open_memstream(char **text, size_t *len);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
int __wrap_asprintf(char **out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
FILE *__wrap_open_memstream(char **text, size_t *len);
void __wrap_free(void *block);

static atomic_long n_until_failure = -1; /* number until one fails; -1: none
                                            does */
static atomic_bool has_failed;
static atomic_bool all_fail; /* from now on */
static atomic_long n_live;   /* blocks */

static bool fails(void)
{
    long before = atomic_load(&n_until_failure);
    if (atomic_load(&all_fail)) {
        return true;
    }
    if (before < 0) {
        return false;
    }
    atomic_store(&n_until_failure, before - 1);
    if (before == 0) {
        atomic_store(&has_failed, true);
    }
    return before == 0;
}

static void *counted(void *block)
{
    atomic_fetch_add(&n_live, block != NULL);
    return block;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (fails()) {
        return NULL;
    }
    void *block = __real_realloc(old, size);
    return old == NULL ? counted(block) : block;
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : counted(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t size)
{
    return fails() ? NULL : counted(__real_strndup(text, size));
}

int __wrap_asprintf(char **out, const char *format, ...)
{
    va_list args;
    if (fails()) {
        return -1;
    }
    va_start(args, format);
    int len = vasprintf(out, format, args);
    va_end(args);
    atomic_fetch_add(&n_live, len >= 0);
    return len;
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size)
{
    int error = fails() ? ENOMEM : __real_posix_memalign(out, alignment, size);
    atomic_fetch_add(&n_live, error == 0);
    return error;
}

/* The text is one block, which the C library allocates. */
FILE *__wrap_open_memstream(char **text, size_t *len)
{
    return fails() ? NULL : counted(__real_open_memstream(text, len));
}

void __wrap_free(void *block)
{
    atomic_fetch_sub(&n_live, block != NULL);
    __real_free(block);
}

#endif
