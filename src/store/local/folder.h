/* SPDX-License-Identifier: Apache-2.0 */
/* Where the embedded store keeps its files, and whether that can be. */
#ifndef HF_STORE_LOCAL_FOLDER_H
#define HF_STORE_LOCAL_FOLDER_H

#include <holdfast/holdfast.h>
#include <stddef.h>
#include <sys/types.h>

/* Longer ones are refused. Three of them fit into a page: each page that is
 * touched at the start costs as much as several system calls. */
#define HF_FOLDER_MAX 1000

struct hf_folder {
    char path[HF_FOLDER_MAX];
    mode_t file_mode; /* of files that are made in it */
};

/* Choose and, if need be, make the folder; @p wanted NULL: the default one.
 * Refuses file systems that other machines may share.
 * @return HF_OK; HF_CONFIG, HF_DENIED, HF_UNAVAILABLE with a text. */
enum hf_status hf_folder_open(const char *wanted, struct hf_folder *out,
                              struct hf_error *error);

/* Is the file system at @p path fit? As hf_folder_open() asks. */
enum hf_status hf_folder_check_fs(const char *path, struct hf_error *error);

/* The file system's name, for people: "ext4". Static. */
const char *hf_folder_fs_name(const char *path);

/* A system call on @p path failed with @p number: say so in one line, with
 * what to do. */
enum hf_status hf_folder_fail(const char *path, int number, const char *doing,
                              struct hf_error *error);

#endif
