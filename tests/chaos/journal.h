/* SPDX-License-Identifier: Apache-2.0 */
/* Histories: files of JSON lines, one per process, all on one clock.
 *
 *     journal_open("c1.jsonl");
 *     journal(journal_now(), "\"ev\":\"begin\",\"a\":%u", attempt);
 *
 * writes {"t":NANOSECONDS,"ev":"begin","a":1}. A line is one write(2) to the
 * end of the file: lines of several threads do not mix, and a killed process
 * leaves whole lines. The caller reads the clock: before what begins, after
 * what has ended. */
#ifndef HF_TESTS_JOURNAL_H
#define HF_TESTS_JOURNAL_H

#include <stdint.h>

/* Nanoseconds of CLOCK_BOOTTIME, which every process of a machine shares. */
int64_t journal_now(void);

/* Ends the program if it cannot be opened. */
void journal_open(const char *path);

void journal(int64_t t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
