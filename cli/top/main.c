/* SPDX-License-Identifier: Apache-2.0 */
/* The program that `holdfast top` runs: options, signals, the loop. */
#include "clocks.h"
#include "cmd.h"
#include "descriptors.h"
#include "exit_code.h"
#include "message.h"
#include "store.h"
#include "top/screen.h"
#include "top/top.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Default of --interval: as often as a person reads a changing screen. */
#define INTERVAL_MS 1000

/* ---- Looks ------------------------------------------------------------- */

void top_refill(struct top *top)
{
    static const struct cli_view none;
    if (!top_rows_fill(&top->rows,
                       top->look != NULL ? &top->look->view : &none)) {
        top->rows.count = 0;
    }
}

void top_take(struct top *top, struct top_look *look)
{
    top->has_looked = true;
    top->status = look->status;
    top->error = look->error;
    top->n_nodes = look->n_nodes;
    for (int i = 0; i < look->n_nodes; i++) {
        top->nodes[i] = look->nodes[i];
    }
    if (look->status != HF_OK) {
        top_look_free(look);
        return;
    }
    struct top_look *old = top->look;
    top->look = look;
    top->seen_wall_ms = cli_time_wall_ms();
    top_refill(top);
    top_look_free(old);
}

static struct top_wish wish_of(const struct top *top)
{
    struct top_wish wish = {
        .interval_ms = top->interval_ms,
        .is_paused = top->is_paused,
    };
    const struct cli_row *row = top_rows_selected(&top->rows);
    if (top->has_entries && row != NULL) {
        wish.name_len = row->name_len;
        for (size_t i = 0; i < row->name_len; i++) {
            wish.name[i] = row->name[i];
        }
    }
    return wish;
}

/* ---- Signals ----------------------------------------------------------- */

/* Block all signals, so that the polling thread gets none. */
static int hold_signals(void)
{
    static const int wanted[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                 SIGTSTP, SIGCONT, SIGWINCH};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        (void)sigaddset(&set, wanted[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void take_signals(struct top *top, int fd)
{
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof(info)) == sizeof(info)) {
        switch (info.ssi_signo) {
        case SIGTSTP:
            top_screen_stop();
            break;
        case SIGCONT: /* other programs may have written to the terminal */
        case SIGWINCH:
            top_screen_resize();
            top_screen_redraw();
            break;
        default:
            top->is_ending = true;
            break;
        }
    }
}

/* ---- The loop ---------------------------------------------------------- */

static void take_keys(struct top *top)
{
    for (int key; (key = top_screen_key()) != TOP_NONE && !top->is_ending;) {
        top_key(top, key);
    }
}

static void go_on(struct top *top, struct top_looker *looker, int signals)
{
    struct pollfd fds[] = {
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = signals, .events = POLLIN},
        {.fd = looker->fd, .events = POLLIN},
    };
    while (!top->is_ending) {
        top_draw(top);
        if (poll(fds, 3, -1) < 0 && errno != EINTR) {
            return;
        }
        take_signals(top, signals);
        if ((fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
            return; /* the terminal is gone */
        }
        take_keys(top);
        struct top_look *look = top_looker_take(looker);
        if (look != NULL) {
            top_take(top, look);
        }
        struct top_wish wish = wish_of(top);
        top_looker_wish(looker, &wish);
    }
}

/* `holdfast` puts the pattern after "--". */
static const char *find_pattern(const struct cli_args *args)
{
    return args->command != NULL ? args->command[0]
           : args->n_words > 0   ? args->words[0]
                                 : NULL;
}

static int show(struct hf_client *client, const struct cli_args *args)
{
    static struct top top;
    struct top_looker looker;
    top.url = hf_client_url(client);
    top.interval_ms =
        args->interval_ms != CLI_UNSET ? args->interval_ms : INTERVAL_MS;
    top_rows_init(&top.rows);
    int signals = hold_signals();
    if (signals < 0) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "signalfd", errno);
    }
    const char *wrong = top_screen_start();
    if (wrong != NULL) {
        return cli_message(CLI_EXIT_USAGE, "top", wrong);
    }
    struct top_wish wish = wish_of(&top);
    int error = top_looker_start(&looker, client, find_pattern(args), &wish);
    if (error == 0) {
        go_on(&top, &looker, signals);
    }
    top_screen_end();
    if (error != 0) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "top", error);
    }
    top_looker_stop(&looker);
    top_look_free(top.look);
    top_rows_fini(&top.rows);
    return 0;
}

int main(int argc, char **argv)
{
    struct cli_args args;
    struct hf_client *client;
    cli_descriptors_keep();
    (void)setlocale(LC_ALL, "");
    cli_args_init(&args);
    int code = cli_opt_parse(&args, "top", cli_cmd_top.opts,
                             argc > 0 ? argv + 1 : argv);
    if (code == 0) {
        code = cli_store_find(&args, &client);
    }
    if (code != 0) {
        return code;
    }
    code = show(client, &args);
    hf_client_close(client);
    return code;
}
