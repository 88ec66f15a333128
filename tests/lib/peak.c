/* SPDX-License-Identifier: Apache-2.0 */
/* peak FILE COMMAND [ARG...]: run it, and write to FILE the peak memory in KiB
 * of its largest process. Exits with the command's code. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage usage;
    int status = 0;
    if (argc < 3) {
        fputs("usage: peak FILE COMMAND [ARG...]\n", stderr);
        return 64;
    }
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    FILE *file = fopen(argv[1], "w");
    if (pid < 0 || file == NULL || waitpid(pid, &status, 0) != pid ||
        getrusage(RUSAGE_CHILDREN, &usage) != 0) {
        return 1;
    }
    fprintf(file, "%ld\n", usage.ru_maxrss);
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
