/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast run: the options that must fit together, then wrapper.c. */
#include "cmd.h"

#include "acquire.h"
#include "exit_code.h"
#include "message.h"
#include "opts_wait.h"
#include "run/run.h"
#include "run/wrapper.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define FIELD(field) offsetof(struct cli_args, field)

static const char *const on_fail[] = {"keep", "release", NULL};
static const char *const on_lost[] = {"kill", "warn", NULL};
static const char *const on_unreachable[] = {"fail", "run", NULL};
static const char *const on_no_proc[] = {"fail", "run", NULL};

static const struct cli_opt opts[] = {
    CLI_OPT_TRY,
    CLI_OPT_WAIT,
    {.name = "once",
     .kind = CLI_OPT_DURATION,
     .offset = FIELD(once_ms),
     .meta = "DUR",
     .min = 1,
     .help = "for cron: if the lock is held, or any host has\n"
             "started the command less than DUR ago, print\n"
             "nothing and exit 0"},
    {.name = "on-fail",
     .kind = CLI_OPT_CHOICE,
     .offset = FIELD(on_fail),
     .meta = "keep|release",
     .choices = on_fail,
     .help = "with --once, if COMMAND fails; release: the\n"
             "next --once runs it again; default: keep"},
    CLI_OPT_TTL,
    CLI_OPT_SHARED,
    CLI_OPT_PERMITS,
    CLI_OPT_UNFAIR,
    {.name = "again",
     .kind = CLI_OPT_FLAG,
     .offset = FIELD(is_again),
     .help = "leader election: when COMMAND ends or the\n"
             "lock is lost, wait for the lock and run COMMAND\n"
             "again, until SIGINT, SIGTERM or SIGQUIT"},
    {.name = "min-hold",
     .kind = CLI_OPT_DURATION,
     .offset = FIELD(min_hold_ms),
     .meta = "DUR",
     .help = "reserve the name for at least that long from\n"
             "the start; the exit code is returned at once"},
    {.name = "max-hold",
     .kind = CLI_OPT_DURATION,
     .offset = FIELD(max_hold_ms),
     .meta = "DUR",
     .min = 1,
     .help = "end the command after that long, exit 124"},
    {.name = "kill-grace",
     .kind = CLI_OPT_DURATION,
     .offset = FIELD(kill_grace_ms),
     .meta = "DUR",
     .help = "if renewal fails: SIGTERM this long before\n"
             "the lease ends, SIGKILL in time for all\n"
             "processes to end before it; default: ttl/4, at\n"
             "most 10s"},
    {.name = "on-lost",
     .kind = CLI_OPT_CHOICE,
     .offset = FIELD(on_lost),
     .meta = "kill|warn",
     .choices = on_lost,
     .help = "if renewal fails; warn: COMMAND continues, and\n"
             "exit 76 if it ended with 0; default: kill"},
    {.name = "on-unreachable",
     .kind = CLI_OPT_CHOICE,
     .offset = FIELD(on_unreachable),
     .meta = "fail|run",
     .choices = on_unreachable,
     .help = "if no store can be reached; run: run COMMAND\n"
             "without the lock, with HOLDFAST_FENCE=0;\n"
             "default: fail"},
    {.name = "on-no-proc",
     .kind = CLI_OPT_CHOICE,
     .offset = FIELD(on_no_proc),
     .meta = "fail|run",
     .choices = on_no_proc,
     .help = "when /proc does not show what COMMAND starts;\n"
             "run: end only COMMAND's process group; default:\n"
             "fail"},
    CLI_OPT_CONFLICT_CODE,
    {.name = "status-fd",
     .kind = CLI_OPT_NUMBER,
     .offset = FIELD(status_fd),
     .meta = "N",
     .min = 0,
     .max = 1048576,
     .help = "write a JSON line per event: waiting,\n"
             "acquired, renewed, at-risk, lost, released"},
    CLI_OPT_LABEL,
    CLI_OPT_NAME,
    {.name = NULL},
};

/* --again waits for the lock, and never runs the command without it. */
static const char *cannot_run_again(const struct cli_args *args)
{
    if (args->is_try) {
        return "--again waits for ever: leave out --try";
    }
    if (args->wait_ms != CLI_UNSET) {
        return "--again waits for ever: leave out --wait";
    }
    if (args->once_ms != CLI_UNSET) {
        return "--again runs the command again, --once does not: give one of "
               "them";
    }
    return args->on_unreachable == CLI_UNREACHABLE_RUN
               ? "--again never runs without the lock: leave out "
                 "--on-unreachable run"
               : NULL;
}

static const char *cannot_run_once(const struct cli_args *args)
{
    if (args->once_ms == CLI_UNSET) {
        return args->on_fail == CLI_UNSET ? NULL : "--on-fail is for --once";
    }
    if (args->wait_ms != CLI_UNSET) {
        return "--once does not wait: leave out --wait";
    }
    if (args->is_shared) {
        return "--once starts one command in a period, --shared lets several "
               "run: give one of them";
    }
    if (args->permits != CLI_UNSET) {
        return "--once starts one command in a period, --permits lets several "
               "run: give one of them";
    }
    return args->once_ms > HF_PERIOD_MS_MAX ? "--once is ten years at most"
                                            : NULL;
}

static const char *cannot_reserve(const struct cli_args *args)
{
    if (args->min_hold_ms == CLI_UNSET) {
        return NULL;
    }
    if (args->is_shared) {
        return "--min-hold keeps others out, --shared lets several in: give "
               "one of them";
    }
    return args->min_hold_ms > HF_RESERVE_MS_MAX
               ? "--min-hold is 31 days at most"
               : NULL;
}

static int check_status(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0) {
        return cli_message_errno(CLI_EXIT_USAGE, "--status-fd", errno);
    }
    return (flags & O_ACCMODE) != O_RDONLY
               ? 0
               : cli_message(CLI_EXIT_USAGE, "--status-fd",
                             "it is open for reading only");
}

static int check(const struct cli_args *args)
{
    const char *wrong = cli_acquire_check(args);
    if (wrong == NULL) {
        wrong = cannot_reserve(args);
    }
    if (wrong == NULL) {
        wrong = cannot_run_once(args);
    }
    if (wrong == NULL && args->is_again) {
        wrong = cannot_run_again(args);
    }
    if (wrong != NULL) {
        return cli_message(CLI_EXIT_USAGE, NULL, wrong);
    }
    if (args->is_json) {
        return cli_message(CLI_EXIT_USAGE, NULL,
                           "run prints nothing: --status-fd has JSON");
    }
    return args->status_fd == CLI_UNSET ? 0
                                        : check_status((int)args->status_fd);
}

static int run(struct cli_args *args)
{
    struct cli_run it = {.args = args};
    int code = check(args);
    if (code == 0) {
        code = cli_config_find(&it.config, args);
    }
    if (code != 0) {
        return code;
    }
    if (args->status_fd > STDERR_FILENO) {
        /* Ours alone: the reader sees its end when we are gone, even if
         * processes of the command remain. */
        (void)fcntl((int)args->status_fd, F_SETFD, FD_CLOEXEC);
    }
    return cli_wrapper(&it);
}

const struct cli_cmd cli_cmd_run = {
    .name = "run",
    .usage = "[OPTIONS] NAME ... -- COMMAND [ARG ...]",
    .summary = "run COMMAND while holding the lock",
    .text =
        "Acquires the lock, runs COMMAND, renews the lock while COMMAND runs, "
        "and\nreleases it. If renewal fails, COMMAND and all processes that it "
        "started are\nkilled before another client can be granted the lock. "
        "Waiters are granted the\nlock in FIFO order. Several names are "
        "acquired all or none, in any order of the\narguments. COMMAND gets "
        "HOLDFAST_NAME, HOLDFAST_FENCE and HOLDFAST_OWNER, with\n--permits "
        "HOLDFAST_SLOT too. The exit code is that of COMMAND (128+N: signal "
        "N),\nor 75 not acquired, 76 lock lost, 69 store unreachable, 77 not "
        "permitted, 64\nusage, 78 configuration, 70 internal error, 124 "
        "--max-hold, 126/127 COMMAND\ncannot run.\n\n"
        "  holdfast run --once 1h nightly-report -- ./report.sh\n"
        "  holdfast run -w 10m migrate -- ./migrate.sh --all\n"
        "  holdfast run -p 3 render -- ./render.sh frame-17\n"
        "  holdfast run --again leader -- ./scheduler\n",
    .opts = opts,
    .takes_name = true,
    .takes_names = true,
    .takes_command = true,
    .run = run,
};
