/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast top: becomes holdfast-top (top/top.h), which has ncurses in it. */
#include "cmd.h"

#include "exit_code.h"
#include "message.h"
#include "text_size.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "holdfast-top"
/* Bytes of a path with its NUL: PATH_MAX of Linux. */
#define PATH_ROOM 4096

static const struct cli_opt opts[] = {
    {.name = "interval",
     .kind = CLI_OPT_DURATION,
     .offset = offsetof(struct cli_args, interval_ms),
     .meta = "DUR",
     .min = 100,
     .help = "polling interval (1s)"},
    {.name = NULL},
};

/* Does not return if it worked. */
static void execute(const char *dir, char **argv)
{
    char path[PATH_ROOM];
    struct cli_out out;
    cli_out_init_text(&out, path, sizeof(path));
    cli_out_text(&out, dir);
    cli_out_text(&out, "/" PROGRAM);
    (void)execv(path, argv);
}

/* The folder at @p way from where this program is, so that an installed tree
 * may be moved; "" if that is unknown. */
static void find_near(const char *way, char dir[PATH_ROOM])
{
    char own[PATH_ROOM];
    struct cli_out out;
    ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
    own[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(own, '/');
    cli_out_init_text(&out, dir, PATH_ROOM);
    if (slash != NULL) {
        *slash = '\0';
        cli_out_text(&out, own);
        cli_out_text(&out, way);
    }
}

/* In each of the folders, as long as it is in none of them. A build tree has it
 * beside the command. */
static void execute_any(char **argv, struct cli_out *looked)
{
    char own_tree[PATH_ROOM], beside[PATH_ROOM];
    const char *set = secure_getenv("HOLDFAST_MODULE_DIR");
    find_near("/" HF_BIN_TO_MODULES, own_tree);
    find_near("", beside);
    const char *dirs[] = {set, own_tree, HF_MODULE_DIR, beside};
    bool is_first = true;
    errno = ENOENT;
    for (size_t i = 0; errno == ENOENT && i < 4; i++) {
        if (dirs[i] == NULL || dirs[i][0] == '\0') {
            continue;
        }
        cli_out_text(looked, is_first ? "" : ", ");
        cli_out_plain(looked, dirs[i]);
        is_first = false;
        errno = ENOENT;
        execute(dirs[i], argv);
    }
}

static int say_missing(const char *looked)
{
    struct cli_out out;
    cli_message_begin(&out);
    cli_out_text(&out, "top: " PROGRAM " is not in ");
    cli_out_text(&out, looked);
    cli_out_text(&out, " (it needs ncurses, and may be a package of its own); "
                       "`holdfast ls --follow` does not");
    return cli_message_end(&out, CLI_EXIT_NOT_FOUND);
}

static int run(struct cli_args *args)
{
    char name[] = PROGRAM;
    char url[] = "--url";
    char interval[] = "--interval";
    char quiet[] = "-q";
    char dashes[] = "--";
    char every[HF_TEXT_NUMBER];
    char looked[4 * PATH_ROOM];
    struct cli_out out;
    char *argv[10] = {name};
    size_t n = 1;
    /* The words are our own argv, and are not written to. */
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
    cli_out_init_text(&out, looked, sizeof(looked));
    execute_any(argv, &out);
    return errno == ENOENT
               ? say_missing(looked)
               : cli_message_errno(CLI_EXIT_CANNOT_RUN, PROGRAM, errno);
}

const struct cli_cmd cli_cmd_top = {
    .name = "top",
    .usage = "[PATTERN]",
    .summary = "show locks as a live table in the terminal",
    .text =
        "Shows the holder and the number of waiters of each lock, and updates "
        "them. Enter\nshows the queue of a name, / filters, ? lists the other "
        "keys.\n",
    .opts = opts,
    .words_max = 1,
    .too_many = "one pattern at a time",
    .run = run,
};
