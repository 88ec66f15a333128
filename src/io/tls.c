/* SPDX-License-Identifier: Apache-2.0 */
#include "io/tls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define MODULE_FILE "holdfast-tls.so"

struct hf_tls {
    void *module;
    const struct hf_tls_ops *ops;
    void *context;
};

/* ---- Where the module is ----------------------------------------------- */

#define PATH_ROOM 4096

/* A module that is linked in, see holdfast-tls.pc. */
extern const struct hf_tls_ops hf_tls_module __attribute__((weak));

static void *load_from(const char *dir, char *reason, size_t size)
{
    char path[PATH_ROOM];
    int len = snprintf(path, sizeof(path), "%s/%s", dir, MODULE_FILE);
    if (len < 0 || (size_t)len >= sizeof(path)) {
        snprintf(reason, size, "TLS: the module's path is too long");
        return NULL;
    }
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL) {
        snprintf(reason, size, "TLS cannot be loaded: %s", dlerror());
    }
    return module;
}

/* In `folder`, from where the file `path` is; NULL too if it is not there. */
static void *load_near(char path[PATH_ROOM], const char *folder, char *reason,
                       size_t size)
{
    char near[PATH_ROOM], file[PATH_ROOM];
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return NULL;
    }
    *slash = '\0';
    int len = snprintf(near, sizeof(near), "%s/%s", path, folder);
    int file_len = snprintf(file, sizeof(file), "%s/%s", near, MODULE_FILE);
    bool is_there = len > 0 && (size_t)len < sizeof(near) && file_len > 0 &&
                    (size_t)file_len < sizeof(file) && access(file, F_OK) == 0;
    return is_there ? load_from(near, reason, size) : NULL;
}

/* An installed tree may be moved: beside the library first, then where the
 * program's tree has it. Neither path means anything in a setuid program, to
 * which others can make links. */
static void *load_moved(char *reason, size_t size)
{
    Dl_info about;
    char path[PATH_ROOM] = "";
    void *module = NULL;
    if (getauxval(AT_SECURE) != 0) {
        return NULL;
    }
    if (dladdr(MODULE_FILE, &about) != 0 && about.dli_fname[0] == '/') {
        snprintf(path, sizeof(path), "%s", about.dli_fname);
        module = load_near(path, "holdfast", reason, size);
    }
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (module == NULL && len > 0) {
        path[len] = '\0';
        module = load_near(path, HF_BIN_TO_MODULES, reason, size);
    }
    return module;
}

static void *load(char *reason, size_t size)
{
    void *module = NULL;
    const char *dir = secure_getenv("HOLDFAST_MODULE_DIR");
    if (dir != NULL && dir[0] == '/') {
        module = load_from(dir, reason, size);
    }
    if (module == NULL) {
        module = load_moved(reason, size);
    }
    return module != NULL ? module : load_from(HF_MODULE_DIR, reason, size);
}

static bool find_ops(struct hf_tls *tls, char *reason, size_t size)
{
    if (&hf_tls_module != NULL) {
        tls->ops = &hf_tls_module;
    } else {
        tls->module = load(reason, size);
        if (tls->module == NULL) {
            return false;
        }
        tls->ops = dlsym(tls->module, "hf_tls_module");
    }
    if (tls->ops == NULL || tls->ops->abi != HF_TLS_ABI) {
        snprintf(reason, size, "TLS: %s is of another version", MODULE_FILE);
        return false;
    }
    return true;
}

bool hf_tls_is_there(void)
{
    char reason[200];
    struct hf_tls tls = {0};
    return find_ops(&tls, reason, sizeof(reason));
}

/* ---- Contexts ---------------------------------------------------------- */

struct hf_tls *hf_tls_new(const struct hf_tls_settings *settings, char *reason,
                          size_t size)
{
    struct hf_tls *tls = calloc(1, sizeof(*tls));
    if (tls == NULL) {
        snprintf(reason, size, "out of memory");
        return NULL;
    }
    if (find_ops(tls, reason, size)) {
        tls->context = tls->ops->context_new(settings, reason, size);
    }
    if (tls->context == NULL) {
        hf_tls_free(tls);
        return NULL;
    }
    return tls;
}

/* The module stays loaded: OpenSSL registers handlers that run at exit. */
void hf_tls_free(struct hf_tls *tls)
{
    if (tls == NULL) {
        return;
    }
    if (tls->context != NULL) {
        tls->ops->context_free(tls->context);
    }
    free(tls);
}

const struct hf_tls_ops *hf_tls_ops(const struct hf_tls *tls)
{
    return tls->ops;
}

void *hf_tls_context(const struct hf_tls *tls)
{
    return tls->context;
}
