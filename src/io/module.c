/* SPDX-License-Identifier: Apache-2.0 */
#include "io/module.h"

#include "base/fail.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* ---- The module's path ------------------------------------------------- */

struct module_search {
    const char *file;
    char *path; /* of HF_MODULE_PATH_MAX bytes; empty: not there */
    char barred[HF_MODULE_PATH_MAX]; /* a folder that cannot be searched */
    int error;                       /* why not; 0: there is none */
};

static bool find_in(const char *dir, struct module_search *search)
{
    int len =
        snprintf(search->path, HF_MODULE_PATH_MAX, "%s/%s", dir, search->file);
    bool has_room = len > 0 && len < HF_MODULE_PATH_MAX;
    if (has_room && access(search->path, F_OK) == 0) {
        return true;
    }
    if (has_room && errno != ENOENT && errno != ENOTDIR) {
        search->error = errno;
        snprintf(search->barred, sizeof(search->barred), "%s", dir);
    }
    search->path[0] = '\0';
    return false;
}

/* `folder` is relative to the folder of the file `near`. */
static bool find_near(const char *near, const char *folder,
                      struct module_search *search)
{
    char dir[HF_MODULE_PATH_MAX];
    const char *slash = strrchr(near, '/');
    if (slash == NULL) {
        return false;
    }
    int len = snprintf(dir, sizeof(dir), "%.*s/%s", (int)(slash - near), near,
                       folder);
    return len > 0 && (size_t)len < sizeof(dir) && find_in(dir, search);
}

static bool find_beside(const char *library, struct module_search *search)
{
    return library[0] == '/' && (find_near(library, HF_MODULE_FOLDER, search) ||
                                 find_near(library, ".", search));
}

/** A line of /proc/self/maps: FIRST-END RIGHTS OFFSET DEVICE INODE FILE.
 * @return the file if its part has the address, else NULL. */
static const char *file_of_line(const char *line, uintptr_t address)
{
    char *next;
    uintmax_t first = strtoumax(line, &next, 16);
    uintmax_t end = *next == '-' ? strtoumax(next + 1, &next, 16) : 0;
    return address >= first && address < end ? strchr(next, '/') : NULL;
}

/* The file that is mapped at `address`, without links in its path; "": none. It
 * is the kernel's, so it is right after chdir() too, when a relative path may
 * lead to a file of another user. */
static void mapped_file(const void *address, char path[HF_MODULE_PATH_MAX])
{
    char *line = NULL;
    size_t size = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    path[0] = '\0';
    while (maps != NULL && path[0] == '\0' && getline(&line, &size, maps) > 0) {
        const char *file = file_of_line(line, (uintptr_t)address);
        if (file != NULL) {
            snprintf(path, HF_MODULE_PATH_MAX, "%.*s", (int)strcspn(file, "\n"),
                     file);
        }
    }
    free(line);
    if (maps != NULL) {
        fclose(maps);
    }
}

/* An installed tree may be moved: search beside the library first, as it was
 * loaded and where a link to it leads, then in the program's tree. A store's
 * module has a copy of this code: it searches for the other modules in its own
 * folder. */
static bool find_in_moved_tree(struct module_search *search)
{
    static const char here[] = "";
    Dl_info about;
    char program[HF_MODULE_PATH_MAX];
    char library[HF_MODULE_PATH_MAX];
    if (dladdr(here, &about) != 0 && find_beside(about.dli_fname, search)) {
        return true;
    }
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (len <= 0) {
        return false;
    }
    program[len] = '\0';
    mapped_file(here, library);
    return (strcmp(library, program) != 0 && find_beside(library, search)) ||
           find_near(program, HF_BIN_TO_MODULES, search);
}

/* A setuid program must trust neither the variable, which its caller sets, nor
 * its own path, since its caller can make links. */
static bool find(struct module_search *search)
{
    const char *dir = secure_getenv("HOLDFAST_MODULE_DIR");
    if (dir != NULL && dir[0] == '/' && find_in(dir, search)) {
        return true;
    }
    if (getauxval(AT_SECURE) == 0 && find_in_moved_tree(search)) {
        return true;
    }
    return find_in(HF_MODULE_DIR, search);
}

/* ---- Loading ----------------------------------------------------------- */

void *hf_module_load(const char *file, char path[HF_MODULE_PATH_MAX],
                     char *reason, size_t size)
{
    struct module_search search = {.file = file, .path = path};
    if (!find(&search)) {
        const char *dir = secure_getenv("HOLDFAST_MODULE_DIR");
        int len = snprintf(reason, size, "there is no module %s in %s", file,
                           dir != NULL ? dir : HF_MODULE_DIR);
        if (search.error != 0 && len > 0 && (size_t)len < size) {
            snprintf(reason + len, size - (size_t)len,
                     " (%s cannot be searched: %s)", search.barred,
                     hf_errno_text(search.error));
        }
        return NULL;
    }
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL) {
        snprintf(reason, size, "%s", dlerror());
    }
    return module;
}
