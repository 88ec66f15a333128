/* SPDX-License-Identifier: Apache-2.0 */
/* A lower bound for `holdfast run`: the least that a program can do to run a
 * command under a lock in Redis. It connects, sets a key at a majority, runs
 * the command, and deletes the key at a majority. No fence, no renewal, no
 * check of the server's identity, no keeper that would kill the command.
 *
 *   bare HOST:PORT[,...] COMMAND [ARG...] */
#include "measure.h"
#include "wire.h"

#include <netinet/in.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static struct wire wires[SERVERS_MAX];
static int n_wires;

static void open_all(char *list)
{
    for (char *p = strtok(list, ","); p != NULL && n_wires < SERVERS_MAX;
         p = strtok(NULL, ",")) {
        wire_open(&wires[n_wires++], p);
    }
}

static void send_all(const char *const *argv)
{
    char out[512];
    size_t len = wire_command(out, sizeof(out), argv);
    for (int i = 0; i < n_wires; i++) {
        wire_put(&wires[i], out, len);
        wire_flush(&wires[i]);
    }
}

/* Wait for one reply from each server of a majority, not for the slow minority.
 */
static void await_majority(void)
{
    struct pollfd polls[SERVERS_MAX];
    int got = 0;
    for (int i = 0; i < n_wires; i++) {
        polls[i] = (struct pollfd){.fd = wires[i].fd, .events = POLLIN};
    }
    while (got < n_wires / 2 + 1) {
        if (poll(polls, (nfds_t)n_wires, 5000) <= 0) {
            die_text("bare", "no reply in 5 s");
        }
        for (int i = 0; i < n_wires; i++) {
            if (polls[i].revents & POLLIN) {
                wire_fill(&wires[i]);
                wire_consume(&wires[i], wires[i].in_len);
                got++;
            }
        }
    }
}

int main(int argc, char **argv)
{
    static const char script[] =
        "if redis.call('get',KEYS[1])==ARGV[1] then "
        "return redis.call('del',KEYS[1]) else return 0 end";
    static const char owner[] = "0123456789abcdef0123456789abcdef";
    const char *take[] = {"SET", "bare", owner, "NX", "PX", "30000", NULL};
    const char *give[] = {"EVAL", script, "1", "bare", owner, NULL};
    pid_t pid;
    int status;
    if (argc < 3) {
        die_text("usage", "bare HOST:PORT[,...] COMMAND [ARG...]");
    }
    open_all(argv[1]);
    send_all(take);
    await_majority();
    if (posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ) != 0 ||
        waitpid(pid, &status, 0) != pid) {
        die(argv[2]);
    }
    send_all(give);
    await_majority();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 70;
}
