/* SPDX-License-Identifier: Apache-2.0 */
/* The other threads of a test, for tests in C. */
#ifndef TESTS_LIB_THREADS_H
#define TESTS_LIB_THREADS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether all threads but this one sleep. False if that cannot be read. */
static inline bool others_sleep(void)
{
    DIR *threads = opendir("/proc/self/task");
    bool do_sleep = true;
    if (threads == NULL) {
        return false;
    }
    for (struct dirent *at = readdir(threads); at != NULL;
         at = readdir(threads)) {
        char path[300], text[400] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/stat", at->d_name);
        FILE *file = at->d_name[0] == '.' || atol(at->d_name) == gettid()
                         ? NULL
                         : fopen(path, "re");
        if (file != NULL) {
            const char *end = fgets(text, sizeof(text), file) != NULL
                                  ? strrchr(text, ')')
                                  : NULL;
            do_sleep = do_sleep && (end == NULL || end[2] == 'S');
            fclose(file);
        }
    }
    closedir(threads);
    return do_sleep;
}

#endif
