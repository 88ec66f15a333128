/* SPDX-License-Identifier: Apache-2.0 */
/* Where the embedded store keeps its files, and which users may use them.
 *
 * A folder has one of two shapes, and the files must fit it:
 *
 *     private   the user's own, writable by no other; the files are made in
 *               passing: the user's own, 0600
 *     shared    root:GROUP 2750; the files are made by hf_folder_share() alone:
 *               root:GROUP 0660
 *
 * Anything else is refused: another user could write to memory that this
 * process has mapped. */
#ifndef HF_STORE_LOCAL_FOLDER_H
#define HF_STORE_LOCAL_FOLDER_H

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Made by hf_folder_share() alone, never in passing. */
#define HF_FOLDER_SYSTEM "/var/lib/holdfast"

#define HF_FOLDER_SHARED_MODE 02750

/* Longer ones are refused. Three of them fit into a page: each page that is
 * touched at the start costs as much as several system calls. */
#define HF_FOLDER_MAX 1000

struct hf_folder {
    char path[HF_FOLDER_MAX];
    bool is_shared;
    uid_t uid; /* owner of the folder and of its files */
    gid_t gid; /* shared: its members may use the store */
};

/* Find the folder and check its shape; @p wanted NULL: the default one, in the
 * home folder of the effective user. A private folder is made if it is missing.
 * Refuses file systems that other machines may share.
 * @return HF_OK; HF_CONFIG, HF_DENIED, HF_UNAVAILABLE with a text. */
enum hf_status hf_folder_open(const char *wanted, struct hf_folder *out,
                              struct hf_error *error);

/* Check owner, mode and number of names of a file in the folder.
 * @return HF_OK; HF_CONFIG or HF_DENIED with a text. */
enum hf_status hf_folder_check_file(const struct hf_folder *folder,
                                    const char *path, const struct stat *about,
                                    struct hf_error *error);

/* Mode of the folder's files. */
mode_t hf_folder_file_mode(const struct hf_folder *folder);

/* Flags for open() of its files: only a private folder's are made in passing.
 */
int hf_folder_open_flags(const struct hf_folder *folder);

/* A file of the folder cannot be opened: as hf_folder_fail(). In a shared
 * folder the line says what root has to do. */
enum hf_status hf_folder_fail_file(const struct hf_folder *folder,
                                   const char *path, int number,
                                   struct hf_error *error);

/* Make @p path a folder that the members of a group share, with its files:
 * for root. Idempotent. The group is the one that a folder of that shape has
 * already, else "holdfast". Held locks stay. share.c
 * @return HF_OK; HF_DENIED, HF_CONFIG, HF_UNAVAILABLE with a text that says
 *         what is needed. */
enum hf_status hf_folder_share(const char *path, struct hf_error *error);

/* Is the file system at @p path fit? As hf_folder_open() asks. */
enum hf_status hf_folder_check_fs(const char *path, struct hf_error *error);

/* The file system's name, for people: "ext4". Static. */
const char *hf_folder_fs_name(const char *path);

/* A system call on @p path failed with @p number: say so in one line, with
 * what to do. */
enum hf_status hf_folder_fail(const char *path, int number, const char *doing,
                              struct hf_error *error);

#endif
