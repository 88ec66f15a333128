/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a lock in the embedded store, as it was in the table when that
 * was last read (transactions.c), by the clock of the machine. */
#include "local/machine.h"
#include "local/machine_parts.h"

#include <stdlib.h>
#include <string.h>

static int64_t clock_ns(const struct sim_machine *machine)
{
    const struct sim_world *world = machine->world;
    return sim_process_clock(&world->processes[0], world->now_ns).ns;
}

static const struct sim_row *row_of(const struct sim_machine *machine,
                                    const char *name)
{
    for (unsigned i = 0; i < machine->n_rows; i++) {
        if (machine->rows[i].is_there &&
            strcmp(machine->rows[i].name, name) == 0) {
            return &machine->rows[i];
        }
    }
    return NULL;
}

const char *sim_machine_owner(const struct sim_machine *machine,
                              const char *name, size_t *len, int64_t *left_ns)
{
    const struct sim_row *row = row_of(machine, name);
    int64_t now_ns = clock_ns(machine);
    if (row == NULL || !row->is_owned || row->until_ns <= now_ns) {
        return NULL;
    }
    *len = row->owner_len;
    *left_ns = row->until_ns - now_ns;
    return row->owner;
}

static const struct sim_row_entry *find(const struct sim_row *row,
                                        uint64_t owner, bool waits)
{
    for (unsigned i = 0; i < row->n_entries; i++) {
        if (row->entries[i].owner == owner && row->entries[i].waits == waits) {
            return &row->entries[i];
        }
    }
    return NULL;
}

int64_t sim_machine_shares(const struct sim_machine *machine, const char *name,
                           uint64_t owner, uint64_t fence)
{
    size_t len;
    int64_t left_ns;
    const struct sim_row *row = row_of(machine, name);
    if (sim_machine_owner(machine, name, &len, &left_ns) == NULL ||
        !row->is_shared) {
        return -1;
    }
    const struct sim_row_entry *entry = find(row, owner, false);
    int64_t now_ns = clock_ns(machine);
    return entry != NULL && entry->counter == fence && entry->until_ns > now_ns
               ? entry->until_ns - now_ns
               : -1;
}

uint64_t sim_machine_sharer(const struct sim_machine *machine, const char *name,
                            unsigned idx)
{
    const struct sim_row *row = row_of(machine, name);
    for (unsigned i = 0; row != NULL && i < row->n_entries; i++) {
        if (!row->entries[i].waits && idx-- == 0) {
            return row->entries[i].owner;
        }
    }
    return 0;
}

uint64_t sim_machine_counter(const struct sim_machine *machine,
                             const char *name)
{
    const struct sim_row *row = row_of(machine, name);
    return row == NULL ? 0 : row->counter;
}

bool sim_machine_has_queue(const struct sim_machine *machine, const char *name,
                           uint64_t but)
{
    const struct sim_row *row = row_of(machine, name);
    for (unsigned i = 0; row != NULL && i < row->n_entries; i++) {
        if (row->entries[i].waits && row->entries[i].owner != but) {
            return true;
        }
    }
    return false;
}

bool sim_machine_has_mark(const struct sim_machine *machine, const char *name,
                          uint64_t fence)
{
    const struct sim_row *row = row_of(machine, name);
    return row != NULL && row->mark.fence == fence && row->mark.owner_len > 0;
}

bool sim_machine_hinders(const struct sim_machine *machine)
{
    bool hinders = machine->is_full;
    for (unsigned i = 0; i < machine->world->story->n_processes; i++) {
        const struct sim_process *process = &machine->world->processes[i];
        hinders |=
            process->is_alive && process->stood_ns > machine->world->now_ns;
    }
    return hinders;
}
