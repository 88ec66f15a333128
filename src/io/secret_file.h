/* SPDX-License-Identifier: Apache-2.0 */
/* Which files with a secret are refused: a password, a token, a private key. If
 * all users may read it, it is no secret. If all users may write it, they
 * choose what is sent to a server, or which key identifies us. Which group may
 * is the administrator's choice. */
#ifndef HF_IO_SECRET_FILE_H
#define HF_IO_SECRET_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

/* The reason, and the remedy, for messages. */
#define HF_SECRET_FILE_EXPOSED "all users may read or write it; chmod o= it"

/* Whether all users may read a file of secrets, or replace them. Take `about`
 * with fstat() of the descriptor that is read: the path may lead to another
 * file by then. */
static inline bool hf_secret_file_is_exposed(const struct stat *about)
{
    return (about->st_mode & (S_IROTH | S_IWOTH)) != 0;
}

#endif
