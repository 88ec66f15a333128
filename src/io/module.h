/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: shared objects that are loaded only when a URL needs them, so that
 * other programs start without their cost. TLS is a module, and so is each
 * store except the built-in ones.
 *
 * A module is searched for in the folder named by HOLDFAST_MODULE_DIR, beside
 * the library or the file that a link to it leads to, in the program's own
 * tree, then in the folder of installation that was configured. A program that
 * runs with more rights than its caller (AT_SECURE) searches only the last
 * one. */
#ifndef HF_IO_MODULE_H
#define HF_IO_MODULE_H

#include <stddef.h>

/* Bytes, NUL included: as PATH_MAX of Linux. */
#define HF_MODULE_PATH_MAX 4096

/* Bytes of a reason: the linker's message names two files, which it cuts. */
#define HF_MODULE_WHY_MAX 512

/** Load `file` from the first of these folders that has it. It stays loaded:
 * its libraries may have registered handlers that run at exit.
 * @param path    its path; "": no folder has it.
 * @param reason  one line, if NULL is returned.
 * @return a handle for dlsym(), or NULL. Any thread; reads files. */
void *hf_module_load(const char *file, char path[HF_MODULE_PATH_MAX],
                     char *reason, size_t size);

#endif
