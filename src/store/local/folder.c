/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of the embedded store.
 *
 * Default: /var/lib/holdfast, where all users of the machine meet, if a package
 * or root has made it; else the user's own. A folder that is there but damaged
 * is an error, never a reason to use another: two folders are two locks. */
#include "store/local/folder.h"

#include "base/fail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SYSTEM_FOLDER "/var/lib/holdfast"
#define GATE_FILE "locks.gate"

enum hf_status hf_folder_fail(const char *path, int number, const char *doing,
                              struct hf_error *error)
{
    switch (number) {
    case ENOSPC:
    case EDQUOT:
        return hf_fail(error, HF_UNAVAILABLE, "cannot %s %s: the disk is full",
                       doing, path);
    case EROFS:
        return hf_fail(error, HF_UNAVAILABLE,
                       "cannot %s %s: the file system is read-only", doing,
                       path);
    case EACCES:
    case EPERM:
        return hf_fail(error, HF_DENIED,
                       "cannot %s %s: no permission (-u local:///FOLDER names "
                       "another folder)",
                       doing, path);
    case ENOTDIR:
        return hf_fail(error, HF_CONFIG,
                       "cannot %s %s: a part of the path is a file, not a "
                       "folder",
                       doing, path);
    case ENOENT:
        return hf_fail(error, HF_CONFIG,
                       "cannot %s %s: the folder above it does not exist",
                       doing, path);
    case ENAMETOOLONG:
    case ELOOP:
    case EISDIR:
        return hf_fail(error, HF_CONFIG, "cannot %s %s: %s", doing, path,
                       strerrordesc_np(number));
    default:
        break;
    }
    const char *text = strerrordesc_np(number);
    return hf_fail(error, HF_UNAVAILABLE, "cannot %s %s: %s", doing, path,
                   text == NULL ? "unknown error" : text);
}

/* ---- File systems ------------------------------------------------------ */

/* linux/magic.h and the file systems' own sources. */
struct file_system {
    unsigned long magic;
    const char *name;
    const char *why_not; /* NULL: fit */
};

#define SHARED_FS                                                              \
    "other machines may have it open, and see neither our memory nor our "     \
    "processes"

static const struct file_system file_systems[] = {
    {0x6969, "NFS", SHARED_FS},
    {0xff534d42, "CIFS", SHARED_FS},
    {0xfe534d42, "SMB", SHARED_FS},
    {0x517b, "SMB", SHARED_FS},
    {0x01021997, "9p", SHARED_FS},
    {0x00c36400, "Ceph", SHARED_FS},
    {0x0bd00bd0, "Lustre", SHARED_FS},
    {0x01161970, "GFS2", SHARED_FS},
    {0x7461636f, "OCFS2", SHARED_FS},
    {0x5346414f, "AFS", SHARED_FS},
    {0x6b414653, "AFS", SHARED_FS},
    {0x73757245, "Coda", SHARED_FS},
    {0x47504653, "GPFS", SHARED_FS},
    {0x65735546, "FUSE",
     "what is behind it cannot be told (sshfs, virtiofs, GlusterFS: another "
     "machine), nor whether it shares memory between processes"},
    {0xef53, "ext4", NULL},
    {0x58465342, "xfs", NULL},
    {0x01021994, "tmpfs", NULL},
    {0x9123683e, "btrfs", NULL},
    {0x794c7630, "overlayfs", NULL},
    {0x2fc12fc1, "zfs", NULL},
    {0xf2f52010, "f2fs", NULL},
};

static const struct file_system *fs_of(const char *path)
{
    struct statfs about;
    if (statfs(path, &about) != 0) {
        return NULL;
    }
    unsigned long magic = (unsigned long)about.f_type & 0xffffffff;
    for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]);
         i++) {
        if (file_systems[i].magic == magic) {
            return &file_systems[i];
        }
    }
    return NULL;
}

enum hf_status hf_folder_check_fs(const char *path, struct hf_error *error)
{
    const struct file_system *fs = fs_of(path);
    if (fs == NULL || fs->why_not == NULL) {
        return HF_OK;
    }
    return hf_fail(error, HF_CONFIG,
                   "%s is on %s: %s; the embedded store covers one machine (-u "
                   "local:///FOLDER on a local disk, or a Redis)",
                   path, fs->name, fs->why_not);
}

const char *hf_folder_fs_name(const char *path)
{
    const struct file_system *fs = fs_of(path);
    return fs == NULL ? "an unknown file system" : fs->name;
}

/* ---- Choosing ---------------------------------------------------------- */

/* Make the folder and what is missing above it. @return 0, or an errno. */
static int make_folders(char *path, mode_t mode)
{
    for (char *at = strchr(path + 1, '/'); at != NULL;
         at = strchr(at + 1, '/')) {
        *at = '\0';
        int failed = mkdir(path, mode);
        int number = errno;
        *at = '/';
        if (failed != 0 && number != EEXIST && number != EACCES &&
            number != EROFS) {
            return number;
        }
    }
    return mkdir(path, mode) == 0 || errno == EEXIST ? 0 : errno;
}

static bool is_usable(const char *folder)
{
    char gate[HF_FOLDER_MAX + 16];
    snprintf(gate, sizeof(gate), "%s/" GATE_FILE, folder);
    if (access(gate, F_OK) == 0) {
        return access(gate, R_OK | W_OK) == 0;
    }
    return access(folder, W_OK | X_OK) == 0;
}

/* $XDG_STATE_HOME/holdfast, or ~/.local/state/holdfast. */
static enum hf_status own_folder(struct hf_folder *out, struct hf_error *error)
{
    const char *base = secure_getenv("XDG_STATE_HOME");
    const char *below = "/holdfast";
    if (base == NULL || base[0] != '/') {
        base = secure_getenv("HOME");
        below = "/.local/state/holdfast";
    }
    if (base == NULL || base[0] != '/') {
        return hf_fail(error, HF_CONFIG,
                       "no folder for the embedded store: " SYSTEM_FOLDER
                       " cannot be used, and neither XDG_STATE_HOME nor HOME "
                       "is set; name one with -u local:///FOLDER");
    }
    int len = snprintf(out->path, sizeof(out->path), "%s%s", base, below);
    if (len < 0 || (size_t)len >= sizeof(out->path)) {
        return hf_fail(error, HF_CONFIG,
                       "the path of the home folder is too long");
    }
    out->file_mode = 0600;
    int number = make_folders(out->path, 0700);
    return number == 0
               ? HF_OK
               : hf_folder_fail(out->path, number, "make the folder", error);
}

static enum hf_status default_folder(struct hf_folder *out,
                                     struct hf_error *error)
{
    if (geteuid() == 0) {
        mkdir(SYSTEM_FOLDER, 0755);
    }
    if (is_usable(SYSTEM_FOLDER)) {
        memcpy(out->path, SYSTEM_FOLDER, sizeof(SYSTEM_FOLDER));
        out->file_mode = 0666;
        return HF_OK;
    }
    return own_folder(out, error);
}

/* A folder that was named: its own owner decides who may use it, by its mode:
 * the files are for those who may enter it. */
static enum hf_status named_folder(const char *wanted, struct hf_folder *out,
                                   struct hf_error *error)
{
    size_t len = strlen(wanted);
    if (len >= sizeof(out->path)) {
        return hf_fail(error, HF_CONFIG, "the path of the folder is too long");
    }
    memcpy(out->path, wanted, len + 1);
    struct stat about;
    if (stat(wanted, &about) != 0) {
        int number = errno;
        if (number == ENOENT) {
            mode_t mode = geteuid() == 0 ? 0755 : 0700;
            number = mkdir(wanted, mode) == 0 || errno == EEXIST ? 0 : errno;
        }
        if (number != 0) {
            return hf_folder_fail(wanted, number, "make the folder", error);
        }
        if (stat(wanted, &about) != 0) {
            return hf_folder_fail(wanted, errno, "use the folder", error);
        }
    }
    if (!S_ISDIR(about.st_mode)) {
        return hf_fail(error, HF_CONFIG, "%s is a file, not a folder", wanted);
    }
    bool is_shared = about.st_uid == 0 && (about.st_mode & S_IXOTH) != 0;
    out->file_mode = is_shared ? 0666 : 0600;
    return HF_OK;
}

enum hf_status hf_folder_open(const char *wanted, struct hf_folder *out,
                              struct hf_error *error)
{
    enum hf_status status = wanted == NULL ? default_folder(out, error)
                                           : named_folder(wanted, out, error);
    return status == HF_OK ? hf_folder_check_fs(out->path, error) : status;
}
