/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast top: becomes holdfast-top (see top.h), which has ncurses in it. */
#include "cmd.h"

#include "exit_code.h"
#include "message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "holdfast-top"
#define PATH_ROOM 4096

static const struct cli_opt opts[] = {
    {.name = "interval",
     .kind = CLI_OPT_DURATION,
     .offset = offsetof(struct cli_args, interval_ms),
     .meta = "DUR",
     .min = 100,
     .help = "how often it looks (1s)"},
    {.name = NULL},
};

/* Does not return if it worked. */
static void become(const char *dir, char **argv)
{
    char path[PATH_ROOM];
    struct cli_out out;
    cli_out_init_text(&out, path, sizeof(path));
    cli_out_text(&out, dir);
    cli_out_text(&out, "/" PROGRAM);
    (void)execv(path, argv);
}

/* From where this program is, so that an installed tree may be moved; a build
 * tree has both in one folder. */
static void become_near(const char *folder, char **argv)
{
    struct cli_out out;
    char dir[PATH_ROOM], near[PATH_ROOM];
    ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
    if (n <= 0) {
        return;
    }
    dir[n] = '\0';
    char *slash = strrchr(dir, '/');
    if (slash != NULL) {
        *slash = '\0';
        cli_out_init_text(&out, near, sizeof(near));
        cli_out_text(&out, dir);
        cli_out_text(&out, "/");
        cli_out_text(&out, folder);
        become(near, argv);
    }
}

static void become_any(char **argv)
{
    const char *dir = secure_getenv("HOLDFAST_MODULE_DIR");
    if (dir != NULL && dir[0] != '\0') {
        become(dir, argv);
    }
    if (errno == ENOENT) {
        become_near(HF_BIN_TO_MODULES, argv);
    }
    if (errno == ENOENT) {
        become(HF_MODULE_DIR, argv);
    }
    if (errno == ENOENT) {
        become_near(".", argv);
    }
}

static int run(struct cli_args *args)
{
    char name[] = PROGRAM;
    char url[] = "--url";
    char interval[] = "--interval";
    char quiet[] = "-q";
    char dashes[] = "--";
    char every[24];
    struct cli_out out;
    char *argv[10] = {name};
    size_t n = 1;
    /* The words are our own argv, which nobody writes to. */
    if (args->url != NULL) {
        argv[n++] = url;
        argv[n++] = (char *)(uintptr_t)args->url;
    }
    if (args->interval_ms != CLI_UNSET) {
        argv[n++] = interval;
        argv[n++] = every;
        cli_out_init_text(&out, every, sizeof(every));
        cli_out_int(&out, args->interval_ms);
        cli_out_text(&out, "ms");
    }
    if (args->is_quiet) {
        argv[n++] = quiet;
    }
    argv[n++] = dashes;
    if (args->n_words > 0) {
        argv[n++] = (char *)(uintptr_t)args->words[0];
    }
    errno = ENOENT;
    become_any(argv);
    return errno == ENOENT
               ? cli_message(CLI_EXIT_NOT_FOUND, "top",
                             PROGRAM " is not installed (it needs ncurses); "
                                     "`holdfast ls --follow` does not")
               : cli_message_errno(CLI_EXIT_CANNOT_RUN, PROGRAM, errno);
}

const struct cli_cmd cli_cmd_top = {
    .name = "top",
    .usage = "[PATTERN]",
    .summary = "the same as a live table in the terminal",
    .text =
        "Shows who holds what and how many wait, again and again. Enter shows "
        "who waits\nfor a name, / filters, ? tells the other keys.\n",
    .opts = opts,
    .words_max = 1,
    .run = run,
};
