/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of the embedded store.
 *
 * Default: .local/state/holdfast in the home folder that the password database
 * names for the effective user, also for root. The choice must not depend on
 * anything that can change while locks are held: not on HOME or XDG_STATE_HOME,
 * which a login shell sets and cron may not, and not on which folders exist.
 * Two folders are two stores, and a lock could have two holders. So a folder
 * that cannot be used is an error; no other one is tried. */
#include "store/local/folder.h"

#include "base/assert.h"
#include "base/fail.h"
#include "base/text_size.h"
#include "io/home.h"
#include "io/namespace.h"
#include "store/local/sum.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BELOW_HOME "/.local/state/holdfast"
#define NAME_A_FOLDER "name a folder with -u local:///FOLDER"

/* Buffer for an entry of the group database. A longer one (a thousand members)
 * is only needed for its name; the gid replaces it. */
#define GROUP_BYTES_MAX 16384

enum hf_status hf_folder_fail(const char *path, int number, const char *doing,
                              struct hf_error *error)
{
    switch (number) {
    case ENOSPC:
    case EDQUOT:
        return hf_fail(error, HF_UNAVAILABLE, "cannot %s %s: the disk is full",
                       doing, path);
    case EFBIG:
        return hf_fail(error, HF_UNAVAILABLE,
                       "cannot %s %s: the limit on the size of files is "
                       "reached (ulimit -f)",
                       doing, path);
    case EROFS:
        return hf_fail(error, HF_UNAVAILABLE,
                       "cannot %s %s: the file system is read-only; "
                       "" NAME_A_FOLDER " that can be written",
                       doing, path);
    case ENOMEM:
        return hf_fail(error, HF_NO_MEMORY, "cannot %s %s: out of memory",
                       doing, path);
    case EMFILE: /* of this process, and so no outage of the store */
    case ENFILE:
        return hf_fail(error, HF_NO_MEMORY, "cannot %s %s: %s", doing, path,
                       hf_errno_text(number));
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
                       "cannot %s %s: the folder above it does not exist; "
                       "" NAME_A_FOLDER,
                       doing, path);
    case ENAMETOOLONG:
    case ELOOP:
    case EISDIR:
        return hf_fail(error, HF_CONFIG, "cannot %s %s: %s", doing, path,
                       strerrordesc_np(number));
    default:
        break;
    }
    return hf_fail(error, HF_UNAVAILABLE, "cannot %s %s: %s", doing, path,
                   hf_errno_text(number));
}

/* ---- Choosing ---------------------------------------------------------- */

static enum hf_status find_home(char *out, size_t size, struct hf_error *error)
{
    struct stat about;
    unsigned uid = geteuid();
    int number = hf_home_find(out, size);
    if (number == ENOENT) {
        return hf_fail(error, HF_CONFIG,
                       "user %u is not in the password database, so there is "
                       "no default folder: " NAME_A_FOLDER,
                       uid);
    }
    if (number == ENAMETOOLONG) {
        return hf_fail(error, HF_CONFIG,
                       "the path of the home folder is too long");
    }
    if (number != 0) {
        return hf_fail(error, HF_UNAVAILABLE,
                       "cannot look up user %u in the password database: %s "
                       "(" NAME_A_FOLDER ")",
                       uid, strerrordesc_np(number));
    }
    if (out[0] != '/' || out[strspn(out, "/")] == '\0' ||
        stat(out, &about) != 0 || !S_ISDIR(about.st_mode)) {
        return hf_fail(error, HF_CONFIG,
                       "user %u has no home folder (the password database says "
                       "\"%.200s\"), so there is no default folder: "
                       "" NAME_A_FOLDER,
                       uid, out);
    }
    return HF_OK;
}

/** Make a folder, unless it is there. The umask may have removed its owner's
 * own rights, which the files in it get in the same way. @return 0, or an
 * errno. */
static int make_one(const char *path)
{
    struct stat about;
    if (mkdir(path, 0700) != 0) {
        return errno == EEXIST ? 0 : errno;
    }
    bool is_usable = lstat(path, &about) != 0 ||
                     (about.st_mode & 0700) == 0700 ||
                     fchmodat(AT_FDCWD, path, 0700, AT_SYMLINK_NOFOLLOW) == 0;
    return is_usable || errno == EOPNOTSUPP ? 0 : errno;
}

/** Make the folders of BASE/.local/state/holdfast below BASE. BASE is not made:
 * if it is missing, its disk may not be mounted yet. @return 0, or an errno. */
static int make_below(char *path, size_t base_len)
{
    for (char *at = strchr(path + base_len + 1, '/'); at != NULL;
         at = strchr(at + 1, '/')) {
        *at = '\0';
        int number = make_one(path);
        *at = '/';
        if (number != 0) {
            return number;
        }
    }
    return make_one(path);
}

static enum hf_status find_default(struct hf_folder *out,
                                   struct hf_error *error)
{
    enum hf_status status =
        find_home(out->path, sizeof(out->path) - sizeof(BELOW_HOME), error);
    if (status != HF_OK) {
        return status;
    }
    size_t len = strlen(out->path);
    while (out->path[len - 1] == '/') {
        len--;
    }
    memcpy(out->path + len, BELOW_HOME, sizeof(BELOW_HOME));
    int number = make_below(out->path, len);
    return number == 0
               ? HF_OK
               : hf_folder_fail(out->path, number, "make the folder", error);
}

static enum hf_status find_named(const char *wanted, struct hf_folder *out,
                                 struct hf_error *error)
{
    size_t len = strlen(wanted);
    struct stat about;
    if (len >= sizeof(out->path)) {
        return hf_fail(error, HF_CONFIG, "the path of the folder is too long");
    }
    memcpy(out->path, wanted, len + 1);
    if (strcmp(wanted, HF_FOLDER_SYSTEM) == 0 || stat(wanted, &about) == 0 ||
        errno != ENOENT) {
        return HF_OK; /* check_shape() reports all other errors */
    }
    int number = make_one(wanted);
    return number == 0
               ? HF_OK
               : hf_folder_fail(wanted, number, "make the folder", error);
}

/* ---- Checking ---------------------------------------------------------- */

static enum hf_status fail_not_set_up(const char *path, struct hf_error *error)
{
    return hf_fail(error, HF_CONFIG,
                   "%s is not set up: as root, run holdfast doctor --init -u "
                   "local://%s",
                   path, path);
}

static void look_around(struct hf_folder_view *out)
{
    struct stat about;
    *out = (struct hf_folder_view){.root_dev = 0};
    if (stat("/", &about) == 0) {
        out->root_dev = about.st_dev;
        out->root_ino = about.st_ino;
    }
    if (hf_namespace_stat("mnt", &about) == 0) {
        out->mounts = about.st_ino;
    }
}

static bool is_shared_shape(const struct stat *about)
{
    return about->st_uid == 0 &&
           (about->st_mode & 07777) == HF_FOLDER_SHARED_MODE;
}

static enum hf_status check_shape(struct hf_folder *folder,
                                  struct hf_error *error)
{
    const char *path = folder->path;
    struct stat about;
    bool is_system = strcmp(path, HF_FOLDER_SYSTEM) == 0;
    if (stat(path, &about) != 0) {
        return is_system && errno == ENOENT
                   ? fail_not_set_up(path, error)
                   : hf_folder_fail(path, errno, "use the folder", error);
    }
    if (!S_ISDIR(about.st_mode)) {
        return hf_fail(error, HF_CONFIG, "%s is a file, not a folder", path);
    }
    folder->is_shared = is_shared_shape(&about);
    folder->uid = about.st_uid;
    folder->gid = about.st_gid;
    look_around(&folder->view);
    if (folder->is_shared) {
        return HF_OK;
    }
    if (is_system) {
        return fail_not_set_up(path, error);
    }
    if (about.st_uid != geteuid()) {
        return hf_fail(error, HF_DENIED,
                       "%s belongs to user %u, not to user %u, and is no "
                       "shared store: " NAME_A_FOLDER,
                       path, (unsigned)about.st_uid, (unsigned)geteuid());
    }
    if ((about.st_mode & 0022) != 0) {
        return hf_fail(error, HF_CONFIG,
                       "%s can be written by others (mode %04o): chmod go-w "
                       "%s, or have root share it with holdfast doctor --init",
                       path, (unsigned)about.st_mode & 07777, path);
    }
    return HF_OK;
}

mode_t hf_folder_file_mode(const struct hf_folder *folder)
{
    return folder->is_shared ? 0660 : 0600;
}

int hf_folder_open_flags(const struct hf_folder *folder)
{
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    return folder->is_shared ? flags : flags | O_CREAT;
}

const char *hf_folder_remedy(const char *path)
{
    const char *name = strrchr(path, '/');
    return strcmp(name == NULL ? path : name + 1, "values.mdb") == 0
               ? "restore it from a backup, or remove it, which deletes all "
                 "values"
               : HF_FOLDER_REMOVE_LOCKS;
}

enum hf_status hf_folder_check_file(const struct hf_folder *folder,
                                    const char *path, const struct stat *about,
                                    struct hf_error *error)
{
    mode_t mode = about->st_mode & 07777;
    if (!S_ISREG(about->st_mode)) {
        return hf_fail(error, HF_CONFIG, "%s is not a file", path);
    }
    if (about->st_nlink > 1) {
        return hf_fail(error, HF_CONFIG, "%s has %lu names (hard links): %s",
                       path, (unsigned long)about->st_nlink,
                       hf_folder_remedy(path));
    }
    if (about->st_uid != folder->uid ||
        (folder->is_shared && about->st_gid != folder->gid)) {
        return hf_fail(error, HF_CONFIG,
                       "%s belongs to %u:%u, its folder to %u:%u: %s", path,
                       (unsigned)about->st_uid, (unsigned)about->st_gid,
                       (unsigned)folder->uid, (unsigned)folder->gid,
                       hf_folder_remedy(path));
    }
    if ((mode & ~hf_folder_file_mode(folder)) != 0) {
        return hf_fail(
            error, HF_CONFIG,
            "%s has mode %04o, which lets others in (%04o is right): %s", path,
            (unsigned)mode, (unsigned)hf_folder_file_mode(folder),
            hf_folder_remedy(path));
    }
    return HF_OK;
}

/* An error should name the group that the user must join. A group that was
 * deleted has only its number. */
static const char *group_name(gid_t gid, char *text, size_t size)
{
    struct group entry;
    struct group *found = NULL;
    if (getgrgid_r(gid, &entry, text, size, &found) != 0 || found == NULL) {
        snprintf(text, size, "%u", (unsigned)gid);
        return text;
    }
    return found->gr_name;
}

enum hf_status hf_folder_fail_file(const struct hf_folder *folder,
                                   const char *path, int number,
                                   struct hf_error *error)
{
    char text[GROUP_BYTES_MAX];
    if (folder->is_shared && number == ENOENT) {
        return fail_not_set_up(folder->path, error);
    }
    if (folder->is_shared && number == EACCES) {
        return hf_fail(error, HF_DENIED,
                       "cannot open %s: no permission: members of group %.64s "
                       "share it",
                       path, group_name(folder->gid, text, sizeof(text)));
    }
    return hf_folder_fail(path, number, "open", error);
}

enum hf_status hf_folder_open(const char *wanted, struct hf_folder *out,
                              struct hf_error *error)
{
    enum hf_status status = wanted == NULL ? find_default(out, error)
                                           : find_named(wanted, out, error);
    if (status == HF_OK) {
        status = check_shape(out, error);
    }
    return status == HF_OK ? hf_folder_check_fs(out->path, error) : status;
}

/* ---- A file that is open ------------------------------------------------ */

/* A sum of the path that the kernel names for a file: it follows the file where
 * it is moved, and needs no right to any folder. 0: not known. */
static uint64_t place_of(int fd)
{
    char link[HF_TEXT_WORD], path[PATH_MAX];
    int all = snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
    HF_ASSERT(all > 0 && (size_t)all < sizeof(link));
    ssize_t len = readlink(link, path, sizeof(path));
    return len <= 0 ? 0
                    : hf_sum_add((uint64_t)len, (const unsigned char *)path,
                                 (size_t)len);
}

void hf_folder_note_file(struct hf_folder_file *file)
{
    file->place = place_of(file->fd);
}

static bool is_moved(const struct hf_folder_file *file)
{
    uint64_t now = file->place != 0 ? place_of(file->fd) : 0;
    return now != 0 && now != file->place;
}

/* Of a namespace that is not known, the root folder decides. */
bool hf_folder_is_elsewhere(const struct hf_folder *folder)
{
    struct hf_folder_view now;
    const struct hf_folder_view *then = &folder->view;
    look_around(&now);
    return now.root_dev != then->root_dev || now.root_ino != then->root_ino ||
           (now.mounts != then->mounts && now.mounts != 0 && then->mounts != 0);
}

/* A file that was moved away counts as removed, too: other processes do not
 * find it. */
bool hf_folder_find_file(const struct hf_folder *folder, const char *path,
                         const struct hf_folder_file *file, struct stat *about)
{
    bool is_there = lstat(path, about) == 0;
    bool is_missing = !is_there && (errno == ENOENT || errno == ENOTDIR);
    if (is_there && about->st_dev == file->dev && about->st_ino == file->ino) {
        return true;
    }
    if ((is_there || is_missing) && !hf_folder_is_elsewhere(folder)) {
        return false;
    }
    return fstat(file->fd, about) == 0 && about->st_nlink > 0 &&
           (!is_moved(file) || hf_folder_is_elsewhere(folder));
}
