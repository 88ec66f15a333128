/* SPDX-License-Identifier: Apache-2.0 */
#include "io/tls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define MODULE_FILE "holdfast-tls.so"

struct hf_tls {
    void *module;
    const struct hf_tls_ops *ops;
    void *context;
};

static void *load_from(const char *dir, char *reason, size_t size)
{
    char path[1024];
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

static void *load(char *reason, size_t size)
{
    const char *dir = secure_getenv("HOLDFAST_MODULE_DIR");
    if (dir != NULL && dir[0] == '/') {
        void *module = load_from(dir, reason, size);
        if (module != NULL) {
            return module;
        }
    }
    return load_from(HF_MODULE_DIR, reason, size);
}

struct hf_tls *hf_tls_new(const struct hf_tls_settings *settings, char *reason,
                          size_t size)
{
    struct hf_tls *tls = calloc(1, sizeof(*tls));
    if (tls == NULL) {
        snprintf(reason, size, "out of memory");
        return NULL;
    }
    tls->module = load(reason, size);
    if (tls->module == NULL) {
        free(tls);
        return NULL;
    }
    tls->ops = dlsym(tls->module, "hf_tls_module");
    if (tls->ops == NULL || tls->ops->abi != HF_TLS_ABI) {
        snprintf(reason, size, "TLS: %s is of another version", MODULE_FILE);
        hf_tls_free(tls);
        return NULL;
    }
    tls->context = tls->ops->context_new(settings, reason, size);
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
