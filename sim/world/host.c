/* SPDX-License-Identifier: Apache-2.0 */
/* HOSTS: the processes of one machine share its clock and its boot. Process i
 * runs on host i, unless the story names another. */
#include "local/machine.h"

#include <string.h>

/* CLOCK_BOOTTIME of every host when the world begins: an hour, as of a machine
 * that did not start just now. After a reboot it begins at 0. */
#define UPTIME_NS INT64_C(3600000000000)

int sim_process_host(const struct sim_process *process)
{
    const struct sim_story *story = process->world->story;
    int shared = story->host_of[process->index];
    if (story->is_local) {
        return 0;
    }
    return shared > 0 ? shared - 1 : process->index;
}

static struct sim_host *host_of(const struct sim_process *process)
{
    return &process->world->hosts[sim_process_host(process)];
}

/* ---- Its clock --------------------------------------------------------- */

static int64_t rated(int64_t ns, int ppm)
{
    return ns + ns / 1000000 * ppm + ns % 1000000 * ppm / 1000000;
}

static int rate_of(const struct sim_process *process)
{
    return process->world->story->rate_ppm[sim_process_host(process)];
}

static int64_t shown_at(const struct sim_host *host, int ppm, int64_t at_ns)
{
    int64_t gone_ns = at_ns - host->since_ns;
    if (at_ns < host->still_until_ns) {
        gone_ns = 0;
    }
    return UPTIME_NS + host->clock_ns + rated(gone_ns, ppm);
}

struct hf_instant sim_process_clock(const struct sim_process *process,
                                    int64_t at_ns)
{
    return (struct hf_instant){
        shown_at(host_of(process), rate_of(process), at_ns)};
}

static int64_t find_time(const struct sim_host *host, int ppm, int64_t clock_ns)
{
    int64_t span_ns = clock_ns - UPTIME_NS - host->clock_ns;
    int64_t at_ns = host->since_ns + rated(span_ns, -ppm);
    int64_t short_ns = clock_ns - shown_at(host, ppm, at_ns);
    while (short_ns > 0) {
        at_ns += 1 + short_ns / 2;
        short_ns = clock_ns - shown_at(host, ppm, at_ns);
    }
    return at_ns;
}

/* A process asks for the time of its next deadline whenever it ran. */
int64_t sim_process_when(const struct sim_process *process,
                         struct hf_instant clock)
{
    struct sim_host *host = host_of(process);
    int64_t now_ns = process->world->now_ns;
    int ppm = rate_of(process);
    if (clock.ns <= shown_at(host, ppm, now_ns)) {
        return now_ns;
    }
    size_t at = (uint64_t)clock.ns % SIM_HOST_TIMES;
    if (host->times[at].clock_ns != clock.ns) {
        host->times[at].clock_ns = clock.ns;
        host->times[at].at_ns = find_time(host, ppm, clock.ns);
    }
    return host->times[at].at_ns;
}

static void forget_times(struct sim_host *host)
{
    memset(host->times, 0, sizeof(host->times));
}

void sim_process_jump(struct sim_process *process, int64_t by_ns)
{
    struct sim_host *host = host_of(process);
    int64_t now_ns = process->world->now_ns;
    int64_t still_ns = host->still_until_ns - now_ns;
    host->clock_ns = sim_process_clock(process, now_ns).ns - UPTIME_NS;
    if (by_ns > 0 && still_ns > 0) {
        by_ns -= still_ns; /* the rest of an earlier standstill */
    }
    host->since_ns = host->still_until_ns = by_ns > 0 ? now_ns : now_ns - by_ns;
    host->clock_ns += by_ns > 0 ? by_ns : 0;
    forget_times(host);
}

/* ---- Its boots --------------------------------------------------------- */

unsigned sim_process_boot(const struct sim_process *process)
{
    return host_of(process)->n_boots;
}

bool sim_process_host_is_up(const struct sim_process *process)
{
    return process->world->now_ns >= host_of(process)->back_ns;
}

void sim_process_reboot(struct sim_process *process, int64_t back_ns)
{
    struct sim_world *world = process->world;
    struct sim_host *host = host_of(process);
    for (unsigned i = 0; i < world->story->n_processes; i++) {
        if (host_of(&world->processes[i]) == host) {
            sim_process_crash(&world->processes[i]);
        }
    }
    *host = (struct sim_host){.clock_ns = -UPTIME_NS,
                              .since_ns = world->now_ns,
                              .n_boots = host->n_boots + 1,
                              .back_ns = back_ns};
    sim_machine_rebooted(world->machine);
}
