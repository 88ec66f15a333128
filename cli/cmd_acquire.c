/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast acquire: take a lock and leave it to the reader of the line. */
#include "cmd.h"

#include "acquire.h"
#include "exit_code.h"
#include "message.h"
#include "nested.h"
#include "opts_wait.h"
#include "owner_text.h"
#include "run/interrupt.h"
#include "run/while_pid.h"
#include "signals.h"
#include "store.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Linux has no greater process id (PID_MAX_LIMIT). */
#define PID_MAX 4194304

static const char *const on_lost[] = {"kill", "warn", NULL};

static const struct cli_opt opts[] = {
    CLI_OPT_TRY,
    CLI_OPT_WAIT,
    CLI_OPT_TTL,
    CLI_OPT_SHARED,
    CLI_OPT_UNFAIR,
    {.name = "while-pid",
     .kind = CLI_OPT_NUMBER,
     .offset = offsetof(struct cli_args, while_pid),
     .meta = "PID",
     .min = 1,
     .max = PID_MAX,
     .help = "renew the lock in the background until that\n"
             "process ends, then release it"},
    {.name = "on-lost",
     .kind = CLI_OPT_CHOICE,
     .offset = offsetof(struct cli_args, on_lost),
     .meta = "kill|warn",
     .choices = on_lost,
     .help = "with --while-pid, if renewal fails; kill:\n"
             "SIGTERM to PID, but not to its children;\n"
             "default: kill"},
    CLI_OPT_CONFLICT_CODE,
    CLI_OPT_LABEL,
    CLI_OPT_NAME,
    /* A permit is two locks, and is not handed on between processes. */
    {.letter = 'p', .name = "permits", .kind = CLI_OPT_LATER, .meta = "N"},
    {.name = NULL},
};

struct acquire_stop {
    int signals;
    struct cli_line_gate gate;
};

static int stop_taking(void *user)
{
    struct acquire_stop *stop = user;
    struct signalfd_siginfo info;
    while (read(stop->signals, &info, sizeof(info)) == sizeof(info)) {
        if (cli_signals_ends((int)info.ssi_signo)) {
            return (int)info.ssi_signo;
        }
        if (info.ssi_signo == SIGTSTP) {
            cli_line_stop(&stop->gate);
        }
    }
    return 0;
}

/* From here to the printed line no signal may end us: it would leave a lock
 * with an unknown owner. SIGPIPE too is blocked, and a write says EPIPE.
 * SIGTSTP stops us while we wait. */
static int hold_signals(struct cli_signals *signals)
{
    sigset_t wanted;
    cli_signals_block(signals);
    wanted = signals->relayed;
    (void)sigaddset(&wanted, SIGPIPE);
    (void)sigdelset(&wanted, SIGCONT);
    (void)sigprocmask(SIG_SETMASK, &wanted, NULL);
    (void)sigdelset(&wanted, SIGPIPE);
    return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int acquire(struct cli_args *args, struct hf_client *client, int signals,
                   struct cli_interrupt *interrupt)
{
    struct hf_request request;
    struct acquire_stop stop = {.signals = signals};
    struct cli_status status = {.fd = -1, .name = args->name};
    struct cli_acquire take = {
        .client = client,
        .request = &request,
        .status = &status,
        .stop_fd = signals,
        .stop = stop_taking,
        .user = &stop,
        .is_quiet = args->is_quiet,
        .foreground = getpgrp(),
        .gate = &stop.gate,
    };
    cli_acquire_request(&request, args);
    request.liveness = HF_LIVENESS_LEASE;
    int code = cli_acquire_ttl(&request, client, args);
    if (code == 0) {
        code = cli_nested_refuse(client, args);
    }
    if (code != 0) {
        return code;
    }
    if (cli_acquire(&take) != HF_OK) {
        interrupt->number = take.signal;
        return cli_acquire_failed(&take, args);
    }
    return cli_owner_text_print(client, take.lock, args, false);
}

static int run(struct cli_args *args)
{
    struct cli_signals held;
    struct cli_interrupt interrupt = {.number = 0};
    struct hf_client *client;
    const char *wrong = cli_acquire_check(args);
    if (wrong == NULL && args->on_lost != CLI_LOST_KILL &&
        args->while_pid == CLI_UNSET) {
        wrong = "--on-lost is for --while-pid";
    }
    if (wrong != NULL) {
        return cli_message(CLI_EXIT_USAGE, NULL, wrong);
    }
    if (args->while_pid != CLI_UNSET) {
        return cli_while_pid(args);
    }
    int signals = hold_signals(&held);
    if (signals < 0) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "signalfd", errno);
    }
    int code = cli_store_find(args, &client);
    if (code == 0) {
        code = acquire(args, client, signals, &interrupt);
        hf_client_close(client);
        cli_interrupt_pass_on(&interrupt);
    }
    return code;
}

const struct cli_cmd cli_cmd_acquire = {
    .name = "acquire",
    .usage = "[OPTIONS] NAME",
    .summary = "acquire a lock and exit, for scripts",
    .text =
        "Prints one line, \"OWNER@FENCE/TTL FENCE SECONDS_LEFT\". No process "
        "renews the\nlock: it is lost when its lease ends, unless extend "
        "renews it before; release\nreleases it. Prefer run if there is one "
        "command to run.\n\n"
        "  line=$(holdfast acquire -t 60s deploy) || exit\n"
        "  export HOLDFAST_OWNER=${line%% *}\n"
        "  ...\n"
        "  holdfast release deploy\n\n"
        "With --while-pid it is renewed until that process ends, $$ in a "
        "script:\n\n"
        "  holdfast acquire --while-pid $$ deploy >/dev/null || exit\n",
    .opts = opts,
    .takes_name = true,
    .run = run,
};
