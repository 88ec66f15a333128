/* SPDX-License-Identifier: Apache-2.0 */
#include "io/module.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* ---- The module's path ------------------------------------------------- */

/* An empty `path` means: not here, try the next folder. */
static bool is_in(const char *dir, const char *file,
                  char path[HF_MODULE_PATH_MAX])
{
    int len = snprintf(path, HF_MODULE_PATH_MAX, "%s/%s", dir, file);
    bool is_there =
        len > 0 && len < HF_MODULE_PATH_MAX && access(path, F_OK) == 0;
    if (!is_there) {
        path[0] = '\0';
    }
    return is_there;
}

/* `folder` is relative to the folder of the file `near`. */
static bool is_near(const char *near, const char *folder, const char *file,
                    char path[HF_MODULE_PATH_MAX])
{
    char dir[HF_MODULE_PATH_MAX];
    const char *slash = strrchr(near, '/');
    if (slash == NULL) {
        return false;
    }
    int len = snprintf(dir, sizeof(dir), "%.*s/%s", (int)(slash - near), near,
                       folder);
    return len > 0 && (size_t)len < sizeof(dir) && is_in(dir, file, path);
}

/* An installed tree may be moved: search beside the library first, then in the
 * program's tree. A store's module has a copy of this code: it searches for the
 * other modules in its own folder. */
static bool is_in_moved_tree(const char *file, char path[HF_MODULE_PATH_MAX])
{
    static const char here[] = "";
    Dl_info about;
    char program[HF_MODULE_PATH_MAX];
    if (dladdr(here, &about) != 0 && about.dli_fname[0] == '/' &&
        (is_near(about.dli_fname, "holdfast", file, path) ||
         is_near(about.dli_fname, ".", file, path))) {
        return true;
    }
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (len <= 0) {
        return false;
    }
    program[len] = '\0';
    return is_near(program, HF_BIN_TO_MODULES, file, path);
}

/* A setuid program must trust neither the variable, which its caller sets, nor
 * its own path, since its caller can make links. */
static bool find(const char *file, char path[HF_MODULE_PATH_MAX])
{
    const char *dir = secure_getenv("HOLDFAST_MODULE_DIR");
    if (dir != NULL && dir[0] == '/' && is_in(dir, file, path)) {
        return true;
    }
    if (getauxval(AT_SECURE) == 0 && is_in_moved_tree(file, path)) {
        return true;
    }
    return is_in(HF_MODULE_DIR, file, path);
}

/* ---- Loading ----------------------------------------------------------- */

void *hf_module_load(const char *file, char path[HF_MODULE_PATH_MAX],
                     char *reason, size_t size)
{
    if (!find(file, path)) {
        const char *dir = secure_getenv("HOLDFAST_MODULE_DIR");
        snprintf(reason, size, "there is no module %s in %s", file,
                 dir != NULL ? dir : HF_MODULE_DIR);
        return NULL;
    }
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL) {
        snprintf(reason, size, "%s", dlerror());
    }
    return module;
}
