/* SPDX-License-Identifier: Apache-2.0 */
/* Wait for a file, where a loop of a shell would start a process for each pause
 * and test, many times a second.
 *
 *   await PATH       until it is there
 *   await -g PATH    until it is gone, or its folder is */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define MOVES (IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM)

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

int main(int argc, char **argv)
{
    bool is_to_go = argc == 3 && strcmp(argv[1], "-g") == 0;
    if (argc != 2 && !is_to_go) {
        fputs("await: await [-g] PATH\n", stderr);
        return 64;
    }
    const char *path = argv[argc - 1];
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%.*s",
             slash == NULL ? 1 : (int)(slash - path) + 1,
             slash == NULL ? "." : path);
    int news = inotify_init1(IN_CLOEXEC);
    if (news < 0 ||
        (inotify_add_watch(news, folder, MOVES | IN_DELETE_SELF) < 0 &&
         !is_to_go)) {
        fprintf(stderr, "await: %s: %s\n", folder, strerror(errno));
        return 1;
    }
    while (is_there(path) == is_to_go) {
        char events[4096];
        if (read(news, events, sizeof(events)) < 0 && errno != EINTR) {
            fprintf(stderr, "await: %s: %s\n", path, strerror(errno));
            return 1;
        }
        if (!is_to_go && !is_there(folder)) {
            return 1;
        }
    }
    return 0;
}
