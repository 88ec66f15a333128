/* SPDX-License-Identifier: Apache-2.0 */
/* The store that a command works on: opened, and its errors told. */
#ifndef CLI_STORE_H
#define CLI_STORE_H

#include "args.h"
#include "config.h"
#include "out.h"

#include <holdfast/holdfast.h>

/* Open what @p config says; the client runs only inside our calls. Secrets in
 * @p config are wiped. @return 0, or the exit code after a line on stderr. */
int cli_store_open(struct cli_config *config, const struct cli_args *args,
                   struct hf_client **out);

/* The same, finding the configuration first and saying the notice. */
int cli_store_find(const struct cli_args *args, struct hf_client **out);

/* If nothing was configured: what the lock covers. One line on stderr. */
void cli_store_notice(const struct cli_config *config,
                      const struct cli_args *args);

/* One line for a call that failed. @return the exit code. */
int cli_store_fail(enum hf_status status, const char *name,
                   const struct hf_error *error);

/* Why it could not renew, for the nodes that could not: " (NODE: REASON; ...)".
 */
void cli_store_put_nodes(struct cli_out *out, struct hf_client *client);

#endif
