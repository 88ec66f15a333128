/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the store of a command, and printing its errors.
 *
 *     struct hf_client *client;
 *     code = cli_store_find(args, &client);       0, or after a line on stderr
 *     if (code == 0) {
 *         status = hf_client_…(client, …, &error);
 *         code = status == HF_OK ? 0 : cli_store_fail(status, name, &error);
 *         hf_client_close(client);
 *     }
 *
 * A command that must do something between configuration and opening calls the
 * three steps itself: cli_config_find(), cli_store_open(), cli_store_notice().
 * Owner: the client is the caller's, which closes it. */
#ifndef CLI_STORE_H
#define CLI_STORE_H

#include "args.h"
#include "config.h"
#include "out.h"

#include <holdfast/holdfast.h>

/* Open the store of @p config; the client runs only inside our calls. Passwords
 * in @p config are overwritten. @return 0, or the exit code after a line on
 * stderr. */
int cli_store_open(struct cli_config *config, const struct cli_args *args,
                   struct hf_client **out);

/* The same without the line: that is cli_store_open_failed(). */
enum hf_status cli_store_try(struct cli_config *config,
                             const struct cli_args *args,
                             struct hf_client **out, struct hf_error *error);

/** After cli_store_try() has failed: print the line. @return the exit code. */
int cli_store_open_failed(const struct cli_config *config,
                          enum hf_status status, const struct hf_error *error);

/* Whether the store frees a lock when the processes that have it end, and not
 * only with its lease. Before it is opened; the store is not asked. */
bool cli_store_frees_at_end(const struct cli_config *config);

/* Find the configuration, open the store, and print the notice. */
int cli_store_find(const struct cli_args *args, struct hf_client **out);

/* If no store was configured: one line on stderr about the scope of the
 * embedded store. */
void cli_store_notice(const struct cli_config *config,
                      const struct cli_args *args);

/* Print one line for a call that failed. @return the exit code. */
int cli_store_fail(enum hf_status status, const char *name,
                   const struct hf_error *error);

/* The nodes that did not renew, with reasons: " (NODE: REASON; ...)". */
void cli_store_put_nodes(struct cli_out *out, struct hf_client *client);

struct cli_info; /* snapshot.h */

/* Servers in quarantine answer, and may have lost locks. @return whether the
 * others are a majority; of `info`, if it is not NULL, those that answered. */
bool cli_store_check_complete(struct hf_client *client,
                              const struct cli_info *info);

#endif
