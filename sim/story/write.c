/* SPDX-License-Identifier: Apache-2.0 */
/* STORIES AS TEXT
 *
 *   nodes 3                        1, 3 or 5; they are n1, n2 …
 *   store local                    instead of nodes: the embedded store
 *   processes 2                    p1, p2 …
 *   seed 17                        for details that the story does not contain
 *   regime amnesia-quarantined     see docs/simulation.md
 *   max_ttl 2s                     as in a store's URL; default: the longest
 *   node_timeout 50ms
 *   quarantine off                 as in a store's URL
 *   queues off                     waiters poll, in no order
 *   delay 200us                    the shortest delay of a message
 *   jitter 300us                   the mean of its additional delay
 *   late 100ppm by 4s              messages that take up to 4s longer
 *   shatter 5000ppm                writes that arrive in two pieces
 *   host p3 p1                     p3 runs on p1's host
 *   brief p2                       it opens a client for each of its turns
 *   rate p1 3000ppm                a clock that is fast (n1 -200ppm: slow)
 *   wall n1 1.5s                   a wall clock that is ahead
 *   calm 20s                       all faults end
 *   turn p1.2 name a,b ttl 2s hold 50ms writes 2
 *                                  the next turn of lane 2 of p1; lane 1 is
 *                                  "p1"
 *   at 1.25s pause p2 for 3s       a fault
 *
 * The words of a turn, in any order: name a[,b…]  think T: before it begins
 * wait T|forever|none  ttl T  hold T  writes N  extends N  permits N  cancel T
 * shared  unfair  blocking  hands-on  forsakes  once T: works if no command
 * was started in that period  withdraws: its command fails, and it withdraws
 * the mark of the period  reserve T: releases the name with a reservation. The
 * defaults are name a, ttl 2s, wait forever.
 *
 * A turn with the word break, break-now, look or foreign is another call on one
 * name: break its lock, inspect it, or lock it as other libraries do.
 *
 * Faults (p: a process, n: a node; if left out, all of them):
 *   cut p n                silence p n for T         deafness p n for T
 *   slow p n by T for T    partition p1,n1 for T     ghost p n by T for T
 *   pause p for T
 *   pause-midway p for T   crash p for T             stop n for T
 *   restart n for T        age n by T for T          empty n for T
 *   promote n by T for T   flush n                   evict n keys N
 *   full n for T           forget-scripts n          node-clock n by T
 *   process-clock p by T   reboot p for T            replica n by T for T
 *   return n               everysec n for T          unsynced n for T
 * and with the embedded store, in the N-th call from then on that the process
 * makes to the kernel or to LMDB:
 *   stop-in-call p number N for T                    kill-in-call p number N
 * for T
 *
 * T is 3s, 1.5ms, 20us, 7ns, 2m or 1h; '#' begins a comment. */
#include "story/story_parts.h"

#include <inttypes.h>
#include <string.h>

void sim_time_write(int64_t ns, FILE *out)
{
    static const struct {
        const char *name;
        uint64_t ns;
        int digits;
    } units[] = {{"s", 1000000000, 9}, {"ms", 1000000, 6}, {"us", 1000, 3}};
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    const char *sign = ns < 0 ? "-" : "";
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (size < units[i].ns) {
            continue;
        }
        char rest[16];
        snprintf(rest, sizeof(rest), "%0*" PRIu64, units[i].digits,
                 size % units[i].ns);
        size_t len = strlen(rest);
        while (len > 0 && rest[len - 1] == '0') {
            rest[--len] = '\0';
        }
        fprintf(out, "%s%" PRIu64 "%s%s%s", sign, size / units[i].ns,
                len > 0 ? "." : "", rest, units[i].name);
        return;
    }
    fprintf(out, "%s%" PRIu64 "%s", sign, size, size == 0 ? "s" : "ns");
}

static void write_time(const char *word, int64_t ns, FILE *out)
{
    fprintf(out, "%s ", word);
    sim_time_write(ns, out);
    fputc('\n', out);
}

static void write_hosts(const struct sim_story *story, FILE *out)
{
    for (unsigned i = 0; i < story->n_processes; i++) {
        if (story->host_of[i] != 0) {
            fprintf(out, "host p%u p%u\n", i + 1, story->host_of[i]);
        }
        if ((story->brief >> i & 1) != 0) {
            fprintf(out, "brief p%u\n", i + 1);
        }
    }
}

static void write_clocks(const struct sim_story *story, FILE *out)
{
    for (unsigned i = 0; i < story->n_processes; i++) {
        if (story->rate_ppm[i] != 0) {
            fprintf(out, "rate p%u %dppm\n", i + 1, story->rate_ppm[i]);
        }
    }
    for (unsigned i = 0; i < story->n_nodes; i++) {
        if (story->node_rate_ppm[i] != 0) {
            fprintf(out, "rate n%u %dppm\n", i + 1, story->node_rate_ppm[i]);
        }
    }
    for (unsigned i = 0; i < story->n_nodes; i++) {
        if (story->node_wall_ns[i] != 0) {
            fprintf(out, "wall n%u ", i + 1);
            sim_time_write(story->node_wall_ns[i], out);
            fputc('\n', out);
        }
    }
}

static void write_head(const struct sim_story *story, FILE *out)
{
    if (story->is_local) {
        fputs("store local\n", out);
    } else {
        fprintf(out, "nodes %u\n", story->n_nodes);
    }
    fprintf(out, "processes %u\nseed %" PRIu64 "\nregime %s\n",
            story->n_processes, story->seed, sim_regime_name(story->regime));
    write_time("max_ttl", story->max_ttl_ms * SIM_MS, out);
    write_time("node_timeout", story->node_timeout_ms * SIM_MS, out);
    if (!story->has_quarantine) {
        fputs("quarantine off\n", out);
    }
    if (!story->queues) {
        fputs("queues off\n", out);
    }
    write_time("delay", story->delay_ns, out);
    write_time("jitter", story->jitter_ns, out);
    if (story->late_ppm > 0) {
        fprintf(out, "late %uppm by ", story->late_ppm);
        sim_time_write(story->late_ns, out);
        fputc('\n', out);
    }
    if (story->shatter_ppm > 0) {
        fprintf(out, "shatter %uppm\n", story->shatter_ppm);
    }
    write_hosts(story, out);
    write_clocks(story, out);
    write_time("calm", story->calm_ns, out);
}

/* ---- Turns --------------------------------------------------------------- */

static void write_names(unsigned names, FILE *out)
{
    const char *before = " name ";
    for (unsigned i = 0; i < SIM_NAMES_MAX; i++) {
        if ((names & 1U << i) != 0) {
            fprintf(out, "%s%c", before, (char)('a' + i));
            before = ",";
        }
    }
}

static void write_span(const char *word, int64_t ns, FILE *out)
{
    if (ns != 0) {
        fprintf(out, " %s ", word);
        sim_time_write(ns, out);
    }
}

static void write_number(const char *word, unsigned number, FILE *out)
{
    if (number > 0) {
        fprintf(out, " %s %u", word, number);
    }
}

static void write_turn(const struct sim_turn *turn, FILE *out)
{
    fprintf(out, "turn p%u", turn->process + 1U);
    if (turn->lane > 0) {
        fprintf(out, ".%u", turn->lane + 1U);
    }
    write_names(turn->names, out);
    write_span("think", turn->think_ns, out);
    if (turn->wait_ms == 0) {
        fputs(" wait none", out);
    } else if (turn->wait_ms > 0) {
        write_span("wait", turn->wait_ms * SIM_MS, out);
    }
    write_span("ttl", turn->ttl_ms * SIM_MS, out);
    write_span("hold", turn->hold_ns, out);
    write_number("permits", turn->n_permits, out);
    write_number("writes", turn->n_writes, out);
    write_number("extends", turn->n_extends, out);
    write_span("cancel", turn->cancel_ns, out);
    write_span("once", turn->period_ms * SIM_MS, out);
    write_span("reserve", turn->reserve_ms * SIM_MS, out);
    if (turn->kind != SIM_TURN_LOCK) {
        fprintf(out, " %s", sim_turn_name((enum sim_turn_kind)turn->kind));
    }
    fprintf(out, "%s%s%s%s%s%s\n", turn->withdraws ? " withdraws" : "",
            turn->is_shared ? " shared" : "", turn->is_unfair ? " unfair" : "",
            turn->is_blocking ? " blocking" : "",
            turn->hands_on ? " hands-on" : "",
            turn->forsakes ? " forsakes" : "");
}

/* ---- Faults -------------------------------------------------------------- */

static void write_mask(uint32_t mask, FILE *out)
{
    const char *before = " ";
    for (unsigned i = 0; i < 32; i++) {
        if ((mask & UINT32_C(1) << i) != 0) {
            fprintf(out, "%s%c%u", before, i < 16 ? 'p' : 'n', i % 16 + 1);
            before = ",";
        }
    }
}

static void write_fault(const struct sim_fault *fault, FILE *out)
{
    const struct sim_fault_form *form = sim_fault_form(fault->kind);
    fputs("at ", out);
    sim_time_write(fault->at_ns, out);
    fprintf(out, " %s", form->name);
    if (form->has_process && fault->process >= 0) {
        fprintf(out, " p%d", fault->process + 1);
    }
    if (form->has_node && fault->node >= 0) {
        fprintf(out, " n%d", fault->node + 1);
    }
    if (form->has_mask) {
        write_mask(fault->mask, out);
    }
    if (form->is_count) {
        fprintf(out, " %s %" PRId64, form->amount, fault->amount);
    } else if (form->amount != NULL) {
        fprintf(out, " %s ", form->amount);
        sim_time_write(fault->amount, out);
    }
    if (form->has_span) {
        fputs(" for ", out);
        sim_time_write(fault->span_ns, out);
    }
    fputc('\n', out);
}

void sim_story_write(const struct sim_story *story, FILE *out)
{
    write_head(story, out);
    for (size_t i = 0; i < story->n_turns; i++) {
        write_turn(&story->turns[i], out);
    }
    for (size_t i = 0; i < story->n_faults; i++) {
        write_fault(&story->faults[i], out);
    }
}
