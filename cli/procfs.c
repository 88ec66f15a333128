/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs.h"

#include "base/assert.h"
#include "out.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_procfs_open(void)
{
    return open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void cli_procfs_path(char path[CLI_PROC_PATH_MAX], pid_t pid, const char *rest)
{
    struct cli_out out;
    cli_out_init_text(&out, path, CLI_PROC_PATH_MAX);
    cli_out_int(&out, pid);
    cli_out_text(&out, rest);
}

ssize_t cli_procfs_read(int proc, const char *path, char *text, size_t room)
{
    size_t len = 0;
    ssize_t n;
    HF_ASSERT(room > 1);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    while (len < room - 1 && (n = read(fd, text + len, room - 1 - len)) > 0) {
        len += (size_t)n;
    }
    (void)close(fd);
    text[len] = '\0';
    return (ssize_t)len;
}

/* "PID (COMM) S PPID …", where COMM may have blanks and parentheses. */
const char *cli_procfs_stat(int proc, pid_t pid, char text[CLI_STAT_MAX])
{
    char path[CLI_PROC_PATH_MAX];
    cli_procfs_path(path, pid, "/stat");
    if (cli_procfs_read(proc, path, text, CLI_STAT_MAX) <= 0) {
        return "";
    }
    const char *end = strrchr(text, ')');
    return end != NULL && strlen(end) > 4 ? end + 2 : "";
}

pid_t cli_procfs_parent(int proc, pid_t pid)
{
    char text[CLI_STAT_MAX];
    const char *stat = cli_procfs_stat(proc, pid, text);
    return *stat != '\0' ? (pid_t)strtol(stat + 2, NULL, 10) : 0;
}
