/* SPDX-License-Identifier: Apache-2.0 */
#include "io/tls.h"

#include "io/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define MODULE_FILE "holdfast-tls.so"

struct hf_tls {
    const struct hf_tls_ops *ops;
    void *context;
};

/* The module if the program links it (holdfast-tls.pc), else NULL. */
extern const struct hf_tls_ops hf_tls_module __attribute__((weak));

static bool find_ops(struct hf_tls *tls, char *reason, size_t size)
{
    char path[HF_MODULE_PATH_MAX], why[512];
    if (&hf_tls_module != NULL) {
        tls->ops = &hf_tls_module;
    } else {
        void *module = hf_module_load(MODULE_FILE, path, why, sizeof(why));
        if (module == NULL) {
            snprintf(reason, size, "TLS cannot be loaded: %s", why);
            return false;
        }
        tls->ops = dlsym(module, "hf_tls_module");
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
