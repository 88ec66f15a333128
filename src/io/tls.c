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

/* The first operation that is not set; NULL: all are set. The struct is of this
 * ABI, so a member that is NULL was left out by the module's author: it would
 * crash at its first call, perhaps only when a connection closes. */
static const char *missing(const struct hf_tls_ops *ops)
{
    const struct {
        const char *name;
        bool is_there;
    } members[] = {
        {"context_new", ops->context_new != NULL},
        {"context_free", ops->context_free != NULL},
        {"open", ops->open != NULL},
        {"handshake", ops->handshake != NULL},
        {"read", ops->read != NULL},
        {"turn", ops->turn != NULL},
        {"is_cut", ops->is_cut != NULL},
        {"write", ops->write != NULL},
        {"close", ops->close != NULL},
        {"clear", ops->clear != NULL},
        {"authorities", ops->authorities != NULL},
    };
    for (unsigned i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (!members[i].is_there) {
            return members[i].name;
        }
    }
    return NULL;
}

/* Only `abi` may be read of a table of another version. */
static bool is_usable(const struct hf_tls_ops *ops, const char *file,
                      char *reason, size_t size)
{
    if (ops == NULL || ops->abi != HF_TLS_ABI) {
        snprintf(reason, size, "TLS: %s is of another version", file);
        return false;
    }
    const char *member = missing(ops);
    if (member != NULL) {
        snprintf(reason, size, "TLS: %s is incomplete: it lacks \"%s\"", file,
                 member);
        return false;
    }
    return true;
}

static bool find_ops(struct hf_tls *tls, char *reason, size_t size)
{
    char path[HF_MODULE_PATH_MAX] = MODULE_FILE, why[512];
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
    return is_usable(tls->ops, path, reason, size);
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
