/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of whole commands: each is run COUNT times, alternating. Per command
 * it prints wall time, CPU time with all its children, and the largest resident
 * set of any process in it.
 *
 *   spawn --count N -- LABEL COMMAND... ::: LABEL COMMAND... [::: ...]
 *
 * The commands alternate, so that other load on the machine affects all of them
 * alike. An exec inherits the high-water mark of the process that forked it, so
 * this process stays small: it allocates no samples in advance. */
#include "measure.h"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define COMMANDS_MAX 16

extern char **environ;

struct command {
    const char *label;
    char **argv;
    uint32_t *wall_ns;
    int64_t cpu_ns;
    long rss_kb;
    int failed;
};

static int64_t timeval_ns(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

static void command_run(struct command *c, int round)
{
    struct rusage usage;
    pid_t pid;
    int status;
    int64_t start = now_ns();
    if (posix_spawnp(&pid, c->argv[0], NULL, NULL, c->argv, environ) != 0) {
        die(c->argv[0]);
    }
    if (wait4(pid, &status, 0, &usage) != pid) {
        die("wait4");
    }
    int64_t wall = now_ns() - start;
    c->failed += status != 0;
    if (round < 0) {
        return; /* warm up */
    }
    c->wall_ns[round] = (uint32_t)wall;
    c->cpu_ns += timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
    c->rss_kb = usage.ru_maxrss > c->rss_kb ? usage.ru_maxrss : c->rss_kb;
}

static void command_print(struct command *c, int count)
{
    struct samples s = {.ns = c->wall_ns, .n = (size_t)count, .seen = 0};
    samples_sort(&s);
    (void)printf("job=%s p50=%.1f p99=%.1f cpu=%.1f rss_kb=%ld failed=%d\n",
                 c->label, samples_at(&s, 0.5), samples_at(&s, 0.99),
                 (double)c->cpu_ns / 1e3 / count, c->rss_kb, c->failed);
}

/* LABEL COMMAND... up to `:::`, which becomes the NULL that ends argv. */
static int commands_parse(struct command *commands, int count, char **argv)
{
    int n = 0;
    while (*argv != NULL && n < COMMANDS_MAX) {
        commands[n].label = *argv++;
        commands[n].argv = argv;
        commands[n].wall_ns =
            must_alloc((size_t)count, sizeof(*commands[n].wall_ns));
        n++;
        while (*argv != NULL && strcmp(*argv, ":::") != 0) {
            argv++;
        }
        if (*argv != NULL) {
            *argv++ = NULL;
        }
    }
    return n;
}

int main(int argc, char **argv)
{
    struct command commands[COMMANDS_MAX] = {0};
    int count = arg_int(argc, argv, "--count", 100);
    if (argc < 5 || strcmp(argv[3], "--") != 0) {
        die_text("usage", "spawn --count N -- LABEL COMMAND... [::: ...]");
    }
    int n = commands_parse(commands, count, argv + 4);
    for (int round = -3; round < count; round++) {
        for (int i = 0; i < n; i++) {
            command_run(&commands[i], round);
        }
    }
    for (int i = 0; i < n; i++) {
        command_print(&commands[i], count);
        free(commands[i].wall_ns);
    }
    return 0;
}
