/* SPDX-License-Identifier: Apache-2.0 */
/* Owner texts of locks that outlive a command: acquire prints them, extend and
 * release read them. */
#ifndef CLI_OWNER_TEXT_H
#define CLI_OWNER_TEXT_H

#include "args.h"

#include <holdfast/holdfast.h>

/* @return --owner, else HOLDFAST_OWNER; NULL after a line on stderr. */
const char *cli_owner_text_given(const struct cli_args *args);

/* Print the error of extend or release. @return the exit code. */
int cli_owner_text_fail(enum hf_status status, const struct cli_args *args,
                        const struct hf_error *error);

/* Detach the lock and print its owner text; consumes the lock. If the text
 * cannot be printed, a lock whose owner would be unknown is released; of an
 * extended one the caller has the owner, and may rely on it.
 * @return the exit code. */
int cli_owner_text_print(struct hf_client *client, struct hf_lock *lock,
                         const struct cli_args *args, bool is_extended);

/* Print the owner text of a lock that the caller keeps, in the same format.
 * @return the exit code. */
int cli_owner_text_show(struct hf_lock *lock, int64_t ttl_ms,
                        const struct cli_args *args);

#endif
