/* SPDX-License-Identifier: Apache-2.0 */
/* client.c with the command of another store: `etcdctl lock`, `consul lock`.
 * The same work, the same lines, by a child of that command:
 *
 *     wrapped etcd|consul ID HOST:PORT,... REGISTER EPOCH-FILE JOURNAL TTL_MS
 *         SEED
 *     wrapped held ID REGISTER JOURNAL ATTEMPT NAME HOLD_MS STEPS
 *
 * Exclusive locks only, and the unguarded register: there is no fence to guard
 * with. The child holds as long as it runs: that is all that it learns. consul
 * has a session of 15 s, whatever TTL_MS is. */
#include "journal.h"
#include "load.h"
#include "protected.h"

#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Beyond the wait, before SIGTERM, and between that and SIGKILL: the command
 * has to start, and to leave its queue. */
#define GRACE_MS 1000

extern char **environ;

static volatile sig_atomic_t is_ending;

static void end(int signal)
{
    (void)signal;
    is_ending = 1;
}

/* ---- The child: it holds ------------------------------------------------- */

static void observe(const char *attempt)
{
    journal(journal_now(), "\"ev\":\"obs\",\"a\":%s,\"left\":0", attempt);
}

static int hold(char **argv)
{
    const char *attempt = argv[5];
    const char *name = argv[6];
    int64_t until = journal_now() + strtol(argv[7], NULL, 10) * 1000000;
    journal_open(argv[4]);
    journal(journal_now(),
            "\"ev\":\"ok\",\"a\":%s,\"fence\":0,\"slot\":-1,\"left\":0",
            attempt);
    register_open(argv[3], argv[2]);
    while (journal_now() < until) {
        observe(attempt);
        rest(25000);
    }
    for (long i = strtol(argv[8], NULL, 10); i > 0; i--) {
        observe(attempt);
        int64_t value = register_read('u', name, 0);
        rest(draw(4) == 0 ? draw(60000) : draw(8000));
        register_write('u', name, 0, value);
    }
    journal(journal_now(), "\"ev\":\"release\",\"a\":%s", attempt);
    return 0;
}

/* ---- The command that has the lock --------------------------------------- */

struct job {
    char **argv; /* of the program */
    unsigned number;
    char name[64];
    int64_t wait_ms;
    bool is_long;
};

/* The last line of the journal is the child's, once it has begun. */
static bool has_begun(const struct job *job)
{
    char tail[400] = "";
    FILE *file = fopen(job->argv[6], "r");
    if (file == NULL) {
        return false;
    }
    if (fseek(file, 1 - (long)sizeof(tail), SEEK_END) != 0) {
        rewind(file); /* it is shorter */
    }
    tail[fread(tail, 1, sizeof(tail) - 1, file)] = '\0';
    fclose(file);
    const char *begin = NULL;
    for (const char *at = tail; (at = strstr(at, "{\"t\":")) != NULL; at++) {
        begin = at;
    }
    return begin != NULL && strstr(begin, "\"ev\":\"begin\"") == NULL;
}

/* One of the addresses: consul knows one agent. */
static void draw_address(const char *list, char *out, size_t size)
{
    for (uint32_t skip = draw(3); skip > 0; skip--) {
        const char *comma = strchr(list, ',');
        list = comma == NULL ? list : comma + 1;
    }
    snprintf(out, size, "-http-addr=http://%.*s", (int)strcspn(list, ","),
             list);
}

static pid_t start(struct job *job)
{
    char number[16];
    char hold_ms[16];
    char steps[16];
    char address[300];
    char ttl[32];
    char **a = job->argv;
    pid_t pid;
    snprintf(number, sizeof(number), "%u", job->number);
    snprintf(steps, sizeof(steps), "%u", 1 + draw(3));
    snprintf(hold_ms, sizeof(hold_ms), "%u",
             job->is_long ? 300 + draw(1200) : 0);
    snprintf(ttl, sizeof(ttl), "--ttl=%ld",
             (strtol(a[7], NULL, 10) + 999) / 1000);
    snprintf(address, sizeof(address), "--endpoints=%s", a[3]);
    const char *etcd[] = {"etcdctl", address,   "lock",  ttl,   job->name,
                          a[0],      "held",    a[2],    a[4],  a[6],
                          number,    job->name, hold_ms, steps, NULL};
    const char *consul[] = {"consul",  "lock", address, "-shell=false",
                            job->name, a[0],   "held",  a[2],
                            a[4],      a[6],   number,  job->name,
                            hold_ms,   steps,  NULL};
    const char **argv = etcd;
    if (strcmp(a[1], "consul") == 0) {
        draw_address(a[3], address, sizeof(address));
        argv = consul;
    }
    if (posix_spawnp(&pid, argv[0], NULL, NULL, (char **)(uintptr_t)argv,
                     environ) != 0) {
        perror(argv[0]);
        exit(1);
    }
    return pid;
}

/* Neither command has a try: it is ended when it has waited for long enough. */
static void await(const struct job *job, pid_t pid)
{
    int64_t until = journal_now() + (job->wait_ms + GRACE_MS) * 1000000;
    int signal = SIGTERM;
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        if (journal_now() > until && !has_begun(job)) {
            kill(pid, signal);
            signal = SIGKILL;
            until += GRACE_MS * INT64_C(1000000);
        }
        rest(5000);
    }
}

static void turn(struct job *job)
{
    int epoch = 0;
    FILE *file = fopen(job->argv[5], "r");
    if (file == NULL || fscanf(file, "%d", &epoch) != 1) {
        perror(job->argv[5]);
        exit(1);
    }
    fclose(file);
    uint32_t which = draw(20);
    job->number++;
    job->is_long = which == 19 || draw(60) == 0;
    job->wait_ms = draw(2) == 0 ? 0 : draw(1500);
    snprintf(job->name, sizeof(job->name), "e%d.%s", epoch,
             which < 12   ? "x0"
             : which < 19 ? "x1"
                          : "long");
    journal(journal_now(),
            "\"ev\":\"begin\",\"a\":%u,\"lock\":\"%s\",\"mode\":\"x\","
            "\"limit\":0,\"wait\":%" PRId64,
            job->number, job->name, job->wait_ms);
    await(job, start(job));
    if (has_begun(job)) {
        journal(journal_now(),
                "\"ev\":\"released\",\"a\":%u,\"status\":\"HF_OK\"",
                job->number);
    } else {
        journal(journal_now(),
                "\"ev\":\"fail\",\"a\":%u,\"status\":\"HF_BUSY\",\"text\":\"or "
                "unreachable\"",
                job->number);
    }
}

int main(int argc, char **argv)
{
    if (argc == 9 && strcmp(argv[1], "held") == 0) {
        load_seed((uint32_t)getpid());
        return hold(argv);
    }
    if (argc != 9) {
        fprintf(stderr, "usage: wrapped etcd|consul ID ADDRESSES REGISTER "
                        "EPOCH JOURNAL TTL_MS SEED\n");
        return 64;
    }
    struct job job = {.argv = argv};
    load_seed((uint32_t)strtoul(argv[8], NULL, 10));
    signal(SIGTERM, end);
    journal_open(argv[6]);
    while (!is_ending) {
        turn(&job);
        rest(1000 + draw(15000));
    }
    journal(journal_now(), "\"ev\":\"end\"");
    return 0;
}
