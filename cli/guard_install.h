/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the installations of all databases. */
#ifndef CLI_GUARD_INSTALL_H
#define CLI_GUARD_INSTALL_H

#include "args.h"
#include "guard_client.h"
#include "out.h"

/* Begin "holdfast: guard: PostgreSQL: ". */
void cli_guard_install_begin(struct cli_out *out,
                             const struct cli_guard *guard);

/* One line with client->error and the remedy; NULL: client->remedy.
 * @return client->code. */
int cli_guard_install_fail(const struct cli_guard_client *client,
                           const char *remedy);

/* Redis has scripts in place of a schema. */
int cli_guard_install_redis(struct cli_guard_client *client,
                            const struct cli_args *args);

#endif
