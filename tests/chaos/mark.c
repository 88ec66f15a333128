/* SPDX-License-Identifier: Apache-2.0 */
/* Commands for the shell on the clock of the histories.
 *
 *     mark now                      prints it
 *     mark offset                   prints how far it is ahead of
 *                                   CLOCK_MONOTONIC
 *     mark line JOURNAL TEXT        appends {"t":NOW,TEXT}; prints NOW
 *     mark clock FILE MS            sets what tests/lib/clock_shim.c adds
 *     mark since T JOURNAL...       has each acquired something after T? */
#include "journal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Bytes at the end of a journal that are searched, some hundred events: it
 * grows for hours, and the latest acquisition is among its last. */
#define TAIL_BYTES 65536

static int print_offset(void)
{
    struct timespec now;
    int64_t before = journal_now();
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t mono = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    printf("%" PRId64 "\n", before - mono);
    return 0;
}

static int append(const char *path, const char *text)
{
    int64_t t = journal_now();
    journal_open(path);
    journal(t, "%s", text);
    printf("%" PRId64 "\n", t);
    return 0;
}

/* In place: the server has the file mapped. */
static int set_clock(const char *path, const char *ms)
{
    int64_t offset_ns = strtoll(ms, NULL, 10) * 1000000;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, &offset_ns, sizeof(offset_ns)) < 0) {
        perror(path);
        return 1;
    }
    return close(fd);
}

static bool has_acquired(const char *path, int64_t since)
{
    static char line[4096];
    bool found = false;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    if (fseek(file, -TAIL_BYTES, SEEK_END) == 0) {
        (void)fgets(line, sizeof(line), file); /* skip the rest of a long
                                                  line */
    } else {
        rewind(file);
    }
    while (!found && fgets(line, sizeof(line), file) != NULL) {
        int64_t t;
        found = strstr(line, "\"ev\":\"ok\"") != NULL &&
                sscanf(line, "{\"t\":%" SCNd64, &t) == 1 && t > since;
    }
    fclose(file);
    return found;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "now") == 0) {
        printf("%" PRId64 "\n", journal_now());
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "offset") == 0) {
        return print_offset();
    }
    if (argc == 4 && strcmp(argv[1], "line") == 0) {
        return append(argv[2], argv[3]);
    }
    if (argc == 4 && strcmp(argv[1], "clock") == 0) {
        return set_clock(argv[2], argv[3]);
    }
    if (argc < 4 || strcmp(argv[1], "since") != 0) {
        fprintf(stderr, "usage: mark now|offset|line|clock|since ...\n");
        return 64;
    }
    int64_t since = strtoll(argv[2], NULL, 10);
    for (int i = 3; i < argc; i++) {
        if (!has_acquired(argv[i], since)) {
            return 1;
        }
    }
    return 0;
}
