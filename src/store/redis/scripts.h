/* SPDX-License-Identifier: Apache-2.0 */
/* The scripts of this folder as constants: cmake/embed_lua.cmake makes them
 * from the .lua files. Their heads document arguments and replies. */
#ifndef HF_REDIS_SCRIPTS_H
#define HF_REDIS_SCRIPTS_H

#include <stddef.h>

/* SHA-1 as hex digits, in bytes with the NUL. */
#define HF_SCRIPT_SHA1_MAX (2 * 20 + 1)

/* Sent by its SHA-1; with its text if the server does not have it. */
struct hf_script {
    const char *name;
    const char *text;
    size_t len;
    char sha1[HF_SCRIPT_SHA1_MAX];
};

/* One for each .lua file. */
extern const struct hf_script hf_script_acquire;
extern const struct hf_script hf_script_confirm;
extern const struct hf_script hf_script_release;
extern const struct hf_script hf_script_break;
extern const struct hf_script hf_script_inspect;
extern const struct hf_script hf_script_list;
extern const struct hf_script hf_script_mark;
extern const struct hf_script hf_script_put;
extern const struct hf_script hf_script_marker;
extern const struct hf_script hf_script_look;
extern const struct hf_script hf_script_ahead;
extern const struct hf_script hf_script_rights;

#endif
