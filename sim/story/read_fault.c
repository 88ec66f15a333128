/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a fault of a story, in the format of write.c: its kind, the processes
 * or nodes that it meets, its amount and its length. The form of each kind says
 * which of these it has (sim_fault_form()): reader and writer share it, and
 * cannot differ. */
#include "story/reader.h"

#include <string.h>

static bool read_mask(struct sim_reader *reader, uint32_t *mask)
{
    char *word = sim_reader_need(reader, "who is parted from the others");
    if (word == NULL) {
        return false;
    }
    for (char *save, *one = strtok_r(word, ",", &save); one != NULL;
         one = strtok_r(NULL, ",", &save)) {
        int process = sim_reader_who(reader, one, 'p');
        int node = sim_reader_who(reader, one, 'n');
        if (process < 0 && node < 0) {
            return sim_reader_fail_who(reader, one);
        }
        *mask |= UINT32_C(1) << (process >= 0 ? process : 16 + node);
    }
    return true;
}

/* Read the process and the node of a fault. `next` is the first word after
 * them. */
static bool read_whom(struct sim_reader *reader, struct sim_fault *fault,
                      char **next)
{
    const struct sim_fault_form *form = sim_fault_form(fault->kind);
    fault->process = fault->node = -1;
    while ((*next = sim_reader_word(reader)) != NULL) {
        char letter = **next;
        if ((letter != 'p' && letter != 'n') || (*next)[1] < '0' ||
            (*next)[1] > '9') {
            return true;
        }
        int index = sim_reader_who(reader, *next, letter);
        if (index < 0) {
            return sim_reader_fail_who(reader, *next);
        }
        if (!(letter == 'p' ? form->has_process : form->has_node)) {
            return sim_reader_fail(reader, "%s is not for %s", form->name,
                                   *next);
        }
        *(letter == 'p' ? &fault->process : &fault->node) = index;
    }
    return true;
}

static bool read_amount(struct sim_reader *reader, struct sim_fault *fault)
{
    const struct sim_fault_form *form = sim_fault_form(fault->kind);
    return form->is_count ? sim_reader_number(reader, form->amount, "", 1,
                                              1000000, &fault->amount)
                          : sim_reader_time(reader, form->amount, INT64_MIN,
                                            &fault->amount);
}

/* The amount and the span, from `word` on, in any order. */
static bool read_amount_and_span(struct sim_reader *reader,
                                 struct sim_fault *fault, const char *word)
{
    const struct sim_fault_form *form = sim_fault_form(fault->kind);
    bool has_amount = form->amount == NULL;
    bool has_span = !form->has_span;
    for (; word != NULL; word = sim_reader_word(reader)) {
        bool is_read;
        if (form->amount != NULL && strcmp(word, form->amount) == 0) {
            has_amount = true;
            is_read = read_amount(reader, fault);
        } else if (form->has_span && strcmp(word, "for") == 0) {
            has_span = true;
            is_read = sim_reader_time(reader, "for", 0, &fault->span_ns);
        } else {
            is_read = sim_reader_fail(reader, "%s has no \"%.40s\"", form->name,
                                      word);
        }
        if (!is_read) {
            return false;
        }
    }
    if (!has_amount || !has_span) {
        return sim_reader_fail(reader, "%s: \"%s\" is missing", form->name,
                               has_amount ? "for" : form->amount);
    }
    return true;
}

static bool read_details(struct sim_reader *reader, struct sim_fault *fault)
{
    char *word;
    if (sim_fault_form(fault->kind)->has_mask &&
        !read_mask(reader, &fault->mask)) {
        return false;
    }
    return read_whom(reader, fault, &word) &&
           read_amount_and_span(reader, fault, word);
}

bool sim_reader_fault(struct sim_reader *reader)
{
    struct sim_fault fault = {0};
    if (!sim_reader_time(reader, "at", 0, &fault.at_ns)) {
        return false;
    }
    char *word = sim_reader_need(reader, "what goes wrong");
    if (word == NULL) {
        return false;
    }
    for (fault.kind = 0; fault.kind < SIM_FAULTS; fault.kind++) {
        if (strcmp(word, sim_fault_name(fault.kind)) == 0) {
            if (!read_details(reader, &fault)) {
                return false;
            }
            sim_story_add_fault(reader->story, &fault);
            return true;
        }
    }
    return sim_reader_fail(reader, "\"%.40s\" cannot go wrong", word);
}
