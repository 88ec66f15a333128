/* SPDX-License-Identifier: Apache-2.0 */
/* The store for a URL's scheme: one of this build, else the module
 * store-SCHEME.so. The scheme is found by that file name, so a new module needs
 * no entry here. A module with several schemes is installed under the name of
 * one, with links for the others. */
#include "base/fail.h"
#include "base/nearest.h"
#include "io/module.h"
#include "store/store.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The stores of this build: CMake's HF_WITHOUT_<STORE> leaves one out. */
static const struct hf_store_ops *const stores[] = {
#ifndef HF_WITHOUT_LOCAL
    &hf_store_local,
#endif
#ifndef HF_WITHOUT_REDIS
    &hf_store_redis,
#endif
    NULL,
};

/* The first required member that is not set; NULL: all are set. */
static const char *missing(const struct hf_store_ops *ops)
{
    if (ops == NULL) {
        return "ops";
    }
    const struct {
        const char *name;
        bool is_there;
    } members[] = {
        {"name", ops->name != NULL},
        {"schemes", ops->schemes != NULL && ops->schemes[0] != NULL},
        {"retry_base", ops->retry_base.ns > 0},
        {"retry_cap", ops->retry_cap.ns >= ops->retry_base.ns},
        {"open", ops->open != NULL},
        {"close", ops->close != NULL},
        {"ask", ops->ask != NULL},
        {"describe", ops->describe != NULL},
        {"job", ops->job != NULL},
        {"job_cancel", ops->job_cancel != NULL},
    };
    for (unsigned i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (!members[i].is_there) {
            return members[i].name;
        }
    }
    return NULL;
}

static bool has_scheme(const struct hf_store_ops *ops, const char *scheme)
{
    for (unsigned i = 0; ops->schemes[i] != NULL; i++) {
        if (strcmp(ops->schemes[i], scheme) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- Modules ----------------------------------------------------------- */

/* Schemes in an error text, and its bytes: all stores of this release together
 * have 18 schemes, in 180 bytes. Those above the limits are left out. */
#define OFFERED_MAX 32
#define OFFERED_TEXT_MAX 512

static enum hf_status fail_unknown(const struct hf_store_ops *const *table,
                                   const char *scheme, const char *why,
                                   struct hf_error *error)
{
    const char *offered[OFFERED_MAX + 1];
    char list[OFFERED_TEXT_MAX] = "";
    size_t n = 0, used = 0;
    for (; *table != NULL; table++) {
        for (unsigned i = 0; (*table)->schemes[i] != NULL; i++) {
            const char *name = (*table)->schemes[i];
            if (n < OFFERED_MAX && used + strlen(name) + 4 < sizeof(list)) {
                offered[n++] = name;
                used += (size_t)snprintf(list + used, sizeof(list) - used,
                                         "%s%s:", n > 1 ? ", " : "", name);
            }
        }
    }
    offered[n] = NULL;
    const char *near = hf_nearest(scheme, offered);
    return hf_fail(error, HF_UNSUPPORTED,
                   "unknown store \"%s:\"%s%s%s (this build has %s; %s)",
                   scheme, near == NULL ? "" : ": did you mean \"",
                   near == NULL ? "" : near, near == NULL ? "" : ":\"?", list,
                   why);
}

/* The store for @p scheme in @p module, which was loaded from @p path. */
static enum hf_status
read_module(void *module, const char *path, const char *scheme,
            const struct hf_store_ops **out, struct hf_error *error)
{
    const struct hf_store_module *found = dlsym(module, "hf_store_module");
    if (found == NULL) {
        return hf_fail(error, HF_UNSUPPORTED,
                       "%s is no store of Holdfast: it has no "
                       "\"hf_store_module\"",
                       path);
    }
    if (found->version == NULL ||
        strcmp(found->version, HF_VERSION_TEXT) != 0) {
        return hf_fail(
            error, HF_UNSUPPORTED,
            "%s is of version %.20s, and this is Holdfast " HF_VERSION_TEXT
            ": install both of one version",
            path, found->version == NULL ? "?" : found->version);
    }
    const struct hf_store_ops *ops = found->ops;
    const char *member = missing(ops);
    if (member != NULL) {
        return hf_fail(error, HF_UNSUPPORTED,
                       "%s is incomplete: it lacks \"%s\"", path, member);
    }
    if (!has_scheme(ops, scheme)) {
        return hf_fail(error, HF_UNSUPPORTED,
                       "%s has the store \"%s:\", and not \"%s:\"", path,
                       ops->schemes[0], scheme);
    }
    *out = ops;
    return HF_OK;
}

static enum hf_status
find_module(const struct hf_store_ops *const *table, const char *scheme,
            const struct hf_store_ops **out, struct hf_error *error)
{
    char file[HF_TEXT_NAME], path[HF_MODULE_PATH_MAX],
        why[sizeof(error->text) / 2];
    snprintf(file, sizeof(file), "store-%.48s.so", scheme);
    void *module = hf_module_load(file, path, why, sizeof(why));
    if (module != NULL) {
        return read_module(module, path, scheme, out, error);
    }
    if (path[0] == '\0') {
        return fail_unknown(table, scheme, why, error);
    }
    return hf_fail(error, HF_UNSUPPORTED,
                   "the store \"%s:\" cannot be loaded: %s", scheme, why);
}

/* ---- Both -------------------------------------------------------------- */

/** @return HF_OK with the table, or HF_UNSUPPORTED with the member that it
 * lacks. */
static enum hf_status
take_complete(const struct hf_store_ops *ops, const char *scheme,
              const struct hf_store_ops **out, struct hf_error *error)
{
    const char *member = missing(ops);
    if (member != NULL) {
        return hf_fail(error, HF_UNSUPPORTED,
                       "the %s store of this build is incomplete: it lacks "
                       "\"%s\"",
                       scheme, member);
    }
    *out = ops;
    return HF_OK;
}

enum hf_status
hf_store_find_in(const struct hf_store_ops *const *table, const char *scheme,
                 const struct hf_store_ops **out, struct hf_error *error)
{
    for (unsigned i = 0; table[i] != NULL; i++) {
        const struct hf_store_ops *ops = table[i];
        if (has_scheme(ops, scheme)) {
            return take_complete(ops, scheme, out, error);
        }
    }
    return find_module(table, scheme, out, error);
}

enum hf_status hf_store_find(const struct hf_url *url,
                             const struct hf_store_ops **out,
                             struct hf_error *error)
{
    enum hf_status status = hf_store_find_in(stores, url->scheme, out, error);
    if (status != HF_OK || (*out)->variant == NULL) {
        return status;
    }
    return take_complete((*out)->variant(url), url->scheme, out, error);
}
