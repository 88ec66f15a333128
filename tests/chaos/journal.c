/* SPDX-License-Identifier: Apache-2.0 */
#include "journal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int journal_fd = -1;

int64_t journal_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void journal_open(const char *path)
{
    journal_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (journal_fd < 0) {
        perror(path);
        exit(1);
    }
}

void journal(int64_t t, const char *format, ...)
{
    char line[1024];
    int len = snprintf(line, sizeof(line), "{\"t\":%" PRId64 ",", t);
    va_list args;
    va_start(args, format);
    len += vsnprintf(line + len, sizeof(line) - (size_t)len - 2, format, args);
    va_end(args);
    if (len > (int)sizeof(line) - 3) {
        len = (int)sizeof(line) - 3;
    }
    line[len] = '}';
    line[len + 1] = '\n';
    if (write(journal_fd, line, (size_t)len + 2) < 0) {
        perror("journal");
        exit(1);
    }
}
