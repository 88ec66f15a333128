/* SPDX-License-Identifier: Apache-2.0 */
/* Shifts a server's wall clock: set LD_PRELOAD to this, and CLOCKSHIM to a file
 * of 8 bytes (nanoseconds, signed, host order), the offset. The test rewrites
 * the file in place while the server runs. If 8 more bytes follow and are not
 * 0, they are the time in nanoseconds, and the clock stands still. The
 * monotonic clock is not affected. (libfaketime hangs redis-server at its
 * start.)
 *
 * Programs in Go do not read the clock through libc. They search the vDSO, the
 * library that the kernel maps into each process, for the functions, and find
 * it by the auxiliary vector. There they are given a copy, in which the symbols
 * of the clock refer to the functions below, and all others to the vDSO itself.
 * A program that is linked statically, in Go or not, does not load this. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;
static const volatile int64_t *frozen;

/* The C library's function, which needs no system call; NULL until it is
 * found. */
static int (*real_gettime)(clockid_t clock, struct timespec *out);

static void map_offset(void)
{
    const char *path = getenv("CLOCKSHIM");
    if (path == NULL) {
        return;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    struct stat file;
    size_t size = fstat(fd, &file) == 0 && file.st_size >= 16 ? 16 : 8;
    void *page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (page != MAP_FAILED) {
        offset = page;
        frozen = size == 16 ? offset + 1 : NULL;
    }
}

static int true_time(clockid_t clock, struct timespec *out)
{
    if (real_gettime != NULL) {
        return real_gettime(clock, out);
    }
    return (int)syscall(SYS_clock_gettime, clock, out);
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    int64_t ns = is_wall && frozen != NULL ? *frozen : 0;
    if (ns == 0) {
        int status = true_time(clock, out);
        if (status != 0 || !is_wall || offset == NULL) {
            return status;
        }
        ns = out->tv_sec * INT64_C(1000000000) + out->tv_nsec + *offset;
    }
    out->tv_sec = ns / 1000000000;
    out->tv_nsec = ns % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    (void)zone;
    struct timespec now;
    int status = clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return status;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}

/* Places in the image of a vDSO. */
struct layout {
    size_t size;
    size_t symbols; /* as far as names, which follow them */
    size_t names;
};

static struct layout layout_of(const char *vdso)
{
    struct layout found = {0};
    const ElfW(Ehdr) *head = (const void *)vdso;
    const ElfW(Phdr) *part = (const void *)(vdso + head->e_phoff);
    const ElfW(Dyn) *entry = NULL;
    for (int i = 0; i < head->e_phnum; i++, part++) {
        if (part->p_type == PT_LOAD) {
            found.size = part->p_offset + part->p_filesz;
        } else if (part->p_type == PT_DYNAMIC) {
            entry = (const void *)(vdso + part->p_offset);
        }
    }
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB) {
            found.symbols = entry->d_un.d_ptr;
        } else if (entry->d_tag == DT_STRTAB) {
            found.names = entry->d_un.d_ptr;
        }
    }
    return found;
}

/* 0 for what does not read the wall clock. On x86-64 functions have the prefix
 * __vdso_, and their plain names; on aarch64 __kernel_. */
static uintptr_t replacement_of(const char *name)
{
    static const char *const prefixes[] = {"__vdso_", "__kernel_"};
    for (size_t i = 0; i < 2; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], length) == 0) {
            name += length;
        }
    }
    if (strcmp(name, "clock_gettime") == 0) {
        return (uintptr_t)clock_gettime;
    }
    if (strcmp(name, "gettimeofday") == 0) {
        return (uintptr_t)gettimeofday;
    }
    return strcmp(name, "time") == 0 ? (uintptr_t)time : 0;
}

/* NULL if it is none that we know. */
static char *copy_vdso(const char *vdso)
{
    struct layout layout = layout_of(vdso);
    if (layout.symbols == 0 || layout.symbols > layout.names ||
        layout.names > layout.size) {
        return NULL;
    }
    char *copy = mmap(NULL, layout.size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) {
        return NULL;
    }
    memcpy(copy, vdso, layout.size);
    ElfW(Sym) *symbol = (void *)(copy + layout.symbols);
    size_t count = (layout.names - layout.symbols) / sizeof(*symbol);
    for (; count > 0; count--, symbol++) {
        uintptr_t to = replacement_of(copy + layout.names + symbol->st_name);
        if (to == 0) {
            to = (uintptr_t)vdso + symbol->st_value;
        }
        symbol->st_value = to - (uintptr_t)copy;
    }
    return copy;
}

static void replace_vdso(char **environment)
{
    while (*environment != NULL) {
        environment++;
    }
    ElfW(auxv_t) *entry = (void *)(environment + 1);
    for (; entry->a_type != AT_NULL; entry++) {
        if (entry->a_type == AT_SYSINFO_EHDR) {
            const char *vdso;
            memcpy(&vdso, &entry->a_un.a_val, sizeof(vdso));
            const char *copy = copy_vdso(vdso);
            entry->a_un.a_val = (uintptr_t)(copy != NULL ? copy : vdso);
        }
    }
}

__attribute__((constructor)) static void begin(int count, char **arguments,
                                               char **environment)
{
    (void)count;
    (void)arguments;
    *(void **)&real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    map_offset();
    replace_vdso(environment);
}
