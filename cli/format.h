/* SPDX-License-Identifier: Apache-2.0 */
/* Holders and nodes, for people and as JSON. */
#ifndef CLI_FORMAT_H
#define CLI_FORMAT_H

#include "out.h"
#include "snapshot.h"

#include <holdfast/holdfast.h>

/* "held by db3 pid 4711 since 02:00:04 (nightly job), frees by 02:00:41". */
void cli_format_holder(struct cli_out *out, const struct cli_holder *holder);

/* Its beginning: "held by db3 pid 4711", " since 02:00:04". */
void cli_format_who(struct cli_out *out, const struct cli_holder *holder);
void cli_format_since(struct cli_out *out, const struct cli_holder *holder);

/* Its two parts, up to the comma and from there. */
void cli_format_held(struct cli_out *out, const struct cli_holder *holder);
void cli_format_frees(struct cli_out *out, const struct cli_holder *holder);

/* The end of its lease, "02:00:41", rounded up: the name is free by then. */
void cli_format_end(struct cli_out *out, const struct cli_holder *holder);

/* Members of an open JSON object: state, host, pid, since … */
void cli_format_holder_json(struct cli_out *out,
                            const struct cli_holder *holder, bool split);

/* Some of them: owner, host, pid, since and label; remaining_ms. */
void cli_format_identity_json(struct cli_out *out,
                              const struct cli_holder *holder);

/* The member remaining_ms: null, if the lease has no expiry. */
void cli_format_remaining_json(struct cli_out *out, int64_t remaining_ms);

/* "up", "down" …; the reason, if it is not up. */
const char *cli_format_node_state(enum hf_health state);

/* "12.3s left" or "no expiry". */
void cli_format_left(struct cli_out *out, int64_t remaining_ms);

/* Fill an error of the command itself in the library's format. */
void cli_format_error(struct hf_error *error, enum hf_status status);

#endif
