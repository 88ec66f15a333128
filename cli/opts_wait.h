/* SPDX-License-Identifier: Apache-2.0 */
/* Options that run and acquire share. */
#ifndef CLI_OPTS_WAIT_H
#define CLI_OPTS_WAIT_H

#include "opt.h"

#define CLI_OPT_TRY                                                            \
    {                                                                          \
        .letter = 'n', .name = "try", .kind = CLI_OPT_FLAG,                    \
        .offset = offsetof(struct cli_args, is_try), .help = "do not wait"     \
    }

#define CLI_OPT_WAIT                                                           \
    {                                                                          \
        .letter = 'w', .name = "wait", .kind = CLI_OPT_DURATION,               \
        .offset = offsetof(struct cli_args, wait_ms), .meta = "DUR",           \
        .help = "wait at most that long (250ms, 10s, 5m,\n"                    \
                "1h30m; plain number = seconds); default: no\n"                \
                "timeout"                                                      \
    }

#define CLI_OPT_TTL                                                            \
    {                                                                          \
        .letter = 't', .name = "ttl", .kind = CLI_OPT_DURATION,                \
        .offset = offsetof(struct cli_args, ttl_ms), .meta = "DUR", .min = 10, \
        .help = "lease length: the time until another host\n"                  \
                "can take over after this host dies; default:\n"               \
                "30s, at most the store's max_ttl"                             \
    }

#define CLI_OPT_SHARED                                                         \
    {                                                                          \
        .letter = 's', .name = "shared", .kind = CLI_OPT_FLAG,                 \
        .offset = offsetof(struct cli_args, is_shared),                        \
        .help = "read lock: held together with other\n"                        \
                "--shared holders"                                             \
    }

#define CLI_OPT_PERMITS                                                        \
    {                                                                          \
        .letter = 'p', .name = "permits", .kind = CLI_OPT_NUMBER,              \
        .offset = offsetof(struct cli_args, permits), .meta = "N", .min = 1,   \
        .max = HF_PERMITS_MAX,                                                 \
        .help = "semaphore: at most N holders at once; all\n"                  \
                "clients of the name must use the same N"                      \
    }

#define CLI_OPT_UNFAIR                                                         \
    {                                                                          \
        .name = "unfair", .kind = CLI_OPT_FLAG,                                \
        .offset = offsetof(struct cli_args, is_unfair),                        \
        .help = "acquire it if it is free, even if clients\n"                  \
                "are queued"                                                   \
    }

#define CLI_OPT_CONFLICT_CODE                                                  \
    {                                                                          \
        .letter = 'E', .name = "conflict-exit-code", .kind = CLI_OPT_NUMBER,   \
        .offset = offsetof(struct cli_args, conflict_code), .meta = "N",       \
        .max = 255,                                                            \
        .help = "exit code when not acquired in time;\ndefault: 75"            \
    }

#define CLI_OPT_LABEL                                                          \
    {                                                                          \
        .name = "label", .kind = CLI_OPT_TEXT,                                 \
        .offset = offsetof(struct cli_args, label), .meta = "TEXT",            \
        .help = "text that ls shows with host, pid and start"                  \
    }

#define CLI_OPT_NAME                                                           \
    {                                                                          \
        .name = "name", .kind = CLI_OPT_WORD, .meta = "NAME",                  \
        .help = "a name that begins with -: --name=-x"                         \
    }

#define CLI_OPT_OWNER                                                          \
    {                                                                          \
        .name = "owner", .kind = CLI_OPT_TEXT,                                 \
        .offset = offsetof(struct cli_args, owner), .meta = "OWNER@FENCE",     \
        .help = "first word of acquire's output; better pass\n"                \
                "it in HOLDFAST_OWNER, since ps shows options"                 \
    }

#endif
