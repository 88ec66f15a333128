/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of the embedded store's files, and which users may use them.
 *
 * A folder has one of two shapes, and its files must fit:
 *
 *     private   owned by the user, and writable by no other; the first open
 *               makes the files: owned by the user, 0600
 *     shared    root:GROUP 2750; only hf_folder_share() makes the files:
 *               root:GROUP 0660
 *
 * Any other shape is refused: another user could write to memory that this
 * process has mapped. */
#ifndef HF_STORE_LOCAL_FOLDER_H
#define HF_STORE_LOCAL_FOLDER_H

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Only hf_folder_share() makes it. */
#define HF_FOLDER_SYSTEM "/var/lib/holdfast"

/* rwxr-s---: only the owner makes files; they belong to the group. */
#define HF_FOLDER_SHARED_MODE 02750

/* Longer paths are refused. A store has three paths of this size, in one page:
 * the first access to a page costs as much as several system calls. */
#define HF_FOLDER_MAX 1000

/* Where paths of the calling thread lead: its root folder and its mounts. */
struct hf_folder_view {
    dev_t root_dev;
    ino_t root_ino;
    ino_t mounts; /* the mount namespace; 0: not known */
};

struct hf_folder {
    char path[HF_FOLDER_MAX];
    bool is_shared;
    uid_t uid; /* owner of the folder and of its files */
    gid_t gid; /* shared: members of this group may use the store */
    struct hf_folder_view view; /* when it was opened */
};

/** Find the folder and check its shape; @p wanted NULL: the default one, in the
 * home folder of the effective user. Makes a private folder if it is missing.
 * Refuses file systems that other machines may share.
 * @return HF_OK; HF_CONFIG, HF_DENIED, HF_NO_MEMORY, HF_UNAVAILABLE with a
 *         text. */
enum hf_status hf_folder_open(const char *wanted, struct hf_folder *out,
                              struct hf_error *error);

/** Check type, owner, mode and number of links of a file in the folder.
 * @return HF_OK; HF_CONFIG or HF_DENIED with a text. */
enum hf_status hf_folder_check_file(const struct hf_folder *folder,
                                    const char *path, const struct stat *about,
                                    struct hf_error *error);

/* A file that is open. */
struct hf_folder_file {
    int fd;
    dev_t dev;
    ino_t ino;
    uint64_t place; /* of hf_folder_note_file() */
};

/* Note where the file is that was just opened: `fd` is set. */
void hf_folder_note_file(struct hf_folder_file *file);

/** Is @p file still the one that other processes find at @p path? A process may
 * have lost its way there since it opened the folder: with setuid(), chroot()
 * or another mount namespace, or as the mode of a folder above was changed.
 * Then the file counts as found while it has a link and was not moved; after
 * chroot() and in another mount namespace, while it has a link.
 * @return true: @p about is filled. */
bool hf_folder_find_file(const struct hf_folder *folder, const char *path,
                         const struct hf_folder_file *file, struct stat *about);

/* The thread has another root folder or mount namespace than when it opened the
 * folder: the folder's path may lead to another store, or nowhere. */
bool hf_folder_is_elsewhere(const struct hf_folder *folder);

/* What to do about the file of the folder if it is damaged, or other users may
 * have written to it. Values are not made again, as locks are, so a remedy for
 * the locks' files leaves them. */
#define HF_FOLDER_REMOVE_LOCKS                                                 \
    "stop all users of the folder, then remove its locks.gate and locks.mdb"
const char *hf_folder_remedy(const char *path);

/* Mode of the folder's files. */
mode_t hf_folder_file_mode(const struct hf_folder *folder);

/* Flags for open() of its files, with O_CREAT only in a private folder. */
int hf_folder_open_flags(const struct hf_folder *folder);

/* hf_folder_fail() for a file that cannot be opened. In a shared folder the
 * text gives the command for root, or the group that has access. */
enum hf_status hf_folder_fail_file(const struct hf_folder *folder,
                                   const char *path, int number,
                                   struct hf_error *error);

/** Make @p path a shared folder, with its files. Only for root; idempotent, and
 * held locks stay. A folder that is shared already keeps its group; else the
 * group is "holdfast". share.c
 * @return HF_OK; HF_DENIED, HF_CONFIG, HF_UNAVAILABLE with a text that gives
 *         the remedy. */
enum hf_status hf_folder_share(const char *path, struct hf_error *error);

/* Refuse a file system that other machines may share, if it is a known one.
 * filesystem.c */
enum hf_status hf_folder_check_fs(const char *path, struct hf_error *error);

/** The file system's name for display, such as "ext4". Static.
 * @return NULL: it is not known, so other machines may share it. */
const char *hf_folder_fs_name(const char *path);

/* A system call on @p path failed with errno @p number: set @p error to a line
 * with the failure and its remedy. */
enum hf_status hf_folder_fail(const char *path, int number, const char *doing,
                              struct hf_error *error);

#endif
