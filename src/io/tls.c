/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates are replaced while programs run, and a lock may be held or
 * waited for longer than they are valid. So the files are compared before each
 * connection, by what stat(2) says of them, and read again if one differs. The
 * connections that are open keep the context that they began with. There is no
 * resumption of sessions, so each connection checks the server anew.
 *
 * Cost: at most four stat(2) for each connection. */
#include "io/tls.h"

#include "io/module.h"
#include "io/secret_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODULE_FILE "holdfast-tls.so"

/* What a context is made from: the authorities of the URL, or the file and the
 * folder of the system's; the certificate; its key. */
enum { CA, CA_FOLDER, CERT, KEY, FILES };

/* A file that is replaced has another inode; one that is written over, another
 * time of change, which no program can set back. */
struct stamp {
    bool is_there;
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec modified, changed;
};

struct hf_tls {
    const struct hf_tls_ops *ops;
    void *context;
    const char *scheme;
    bool has_system;            /* the system's authorities */
    char *files[FILES];         /* NULL: none */
    struct stamp stamps[FILES]; /* from before the context was made */
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
static bool check_ops(const struct hf_tls_ops *ops, const char *file,
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
    char path[HF_MODULE_PATH_MAX] = MODULE_FILE;
    char why[HF_MODULE_WHY_MAX];
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
    return check_ops(tls->ops, path, reason, size);
}

bool hf_tls_find(void)
{
    char reason[HF_TEXT_REASON];
    struct hf_tls tls = {0};
    return find_ops(&tls, reason, sizeof(reason));
}

/* ---- Files ------------------------------------------------------------- */

bool hf_tls_is_exposed(const char *key)
{
    struct stat info;
    return key != NULL && stat(key, &info) == 0 &&
           hf_secret_file_is_exposed(&info);
}

/* The program may change its folder, and must not read another file then. In a
 * folder without a path the name stays as it is. */
static bool copy_path(char **out, const char *path)
{
    char *folder = NULL;
    if (path == NULL) {
        return true;
    }
    if (path[0] != '/') {
        folder = getcwd(NULL, 0);
        if (folder == NULL && errno == ENOMEM) {
            return false;
        }
    }
    size_t size = strlen(path) + 1 + (folder == NULL ? 0 : strlen(folder) + 1);
    *out = malloc(size);
    if (*out != NULL) {
        snprintf(*out, size, "%s%s%s", folder == NULL ? "" : folder,
                 folder == NULL ? "" : "/", path);
    }
    free(folder);
    return *out != NULL;
}

static bool copy_paths(struct hf_tls *tls,
                       const struct hf_tls_settings *settings)
{
    const char *ca = settings->ca, *folder = NULL;
    tls->scheme = settings->scheme;
    tls->has_system = ca == NULL;
    if (ca == NULL) {
        tls->ops->authorities(&ca, &folder);
    }
    return copy_path(&tls->files[CA], ca) &&
           copy_path(&tls->files[CA_FOLDER], folder) &&
           copy_path(&tls->files[CERT], settings->cert) &&
           copy_path(&tls->files[KEY], settings->key);
}

static struct stamp stamp_of(const char *file)
{
    struct stat info;
    struct stamp stamp = {.is_there = false};
    if (file != NULL && stat(file, &info) == 0) {
        stamp.is_there = true;
        stamp.dev = info.st_dev;
        stamp.ino = info.st_ino;
        stamp.size = info.st_size;
        stamp.modified = info.st_mtim;
        stamp.changed = info.st_ctim;
    }
    return stamp;
}

static void stamp_all(const struct hf_tls *tls, struct stamp stamps[FILES])
{
    for (unsigned i = 0; i < FILES; i++) {
        stamps[i] = stamp_of(tls->files[i]);
    }
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same(const struct stamp *a, const struct stamp *b)
{
    return a->is_there == b->is_there && a->dev == b->dev && a->ino == b->ino &&
           a->size == b->size && is_same_time(a->modified, b->modified) &&
           is_same_time(a->changed, b->changed);
}

/* A file that is missing is being replaced. The system's need not exist, so
 * that a context without it could be made. */
static bool is_replaced(const struct hf_tls *tls,
                        const struct stamp stamps[FILES])
{
    bool is_other = false;
    for (unsigned i = 0; i < FILES; i++) {
        if (!is_same(&stamps[i], &tls->stamps[i])) {
            is_other = true;
            if (!stamps[i].is_there) {
                return false;
            }
        }
    }
    return is_other;
}

/* ---- Contexts ---------------------------------------------------------- */

static bool make_context(struct hf_tls *tls,
                         const struct hf_tls_settings *settings, char *reason,
                         size_t size)
{
    if (!copy_paths(tls, settings)) {
        snprintf(reason, size, "out of memory");
        return false;
    }
    stamp_all(tls, tls->stamps);
    tls->context = tls->ops->context_new(settings, reason, size);
    return tls->context != NULL;
}

struct hf_tls *hf_tls_new(const struct hf_tls_settings *settings, char *reason,
                          size_t size)
{
    struct hf_tls *tls = calloc(1, sizeof(*tls));
    if (tls == NULL) {
        snprintf(reason, size, "out of memory");
        return NULL;
    }
    if (!find_ops(tls, reason, size) ||
        !make_context(tls, settings, reason, size)) {
        hf_tls_free(tls);
        return NULL;
    }
    return tls;
}

/* A reason is of no use: if the files that were read do not serve any more, the
 * connection fails with the server's. */
static void renew_context(struct hf_tls *tls)
{
    struct stamp stamps[FILES];
    char reason[HF_TEXT_ADVICE];
    struct hf_tls_settings settings = {.ca = tls->has_system ? NULL
                                                             : tls->files[CA],
                                       .cert = tls->files[CERT],
                                       .key = tls->files[KEY],
                                       .scheme = tls->scheme};
    stamp_all(tls, stamps);
    if (!is_replaced(tls, stamps) || hf_tls_is_exposed(settings.key)) {
        return;
    }
    void *context = tls->ops->context_new(&settings, reason, sizeof(reason));
    if (context != NULL) {
        tls->ops->context_free(tls->context);
        tls->context = context;
        memcpy(tls->stamps, stamps, sizeof(stamps));
    }
}

void *hf_tls_open(struct hf_tls *tls, int fd, const char *host, char *reason,
                  size_t size)
{
    renew_context(tls);
    return tls->ops->open(tls->context, fd, host, reason, size);
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
    for (unsigned i = 0; i < FILES; i++) {
        free(tls->files[i]);
    }
    free(tls);
}

const struct hf_tls_ops *hf_tls_ops(const struct hf_tls *tls)
{
    return tls->ops;
}
