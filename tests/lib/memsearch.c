/* SPDX-License-Identifier: Apache-2.0 */
/* memsearch PID: searches the memory of a process for the line on stdin. Exits
 * with 0 if it is found, 1 if not, 2 if the memory cannot be read. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Mappings larger than this are not searched; ours are smaller. */
#define MOST (256UL << 20)

static int is_in(int memory, unsigned long begin, unsigned long end,
                 const char *text, size_t len)
{
    size_t size = end - begin;
    char *data = size > MOST ? NULL : malloc(size);
    ssize_t n = data == NULL ? -1 : pread(memory, data, size, (off_t)begin);
    int found = n > 0 && memmem(data, (size_t)n, text, len) != NULL;
    free(data);
    return found;
}

int main(int argc, char **argv)
{
    char path[64], line[512], text[256];
    unsigned long begin, end;
    int found = 0;
    if (argc != 2 || fgets(text, sizeof(text), stdin) == NULL) {
        fputs("usage: memsearch PID <TEXT\n", stderr);
        return 2;
    }
    text[strcspn(text, "\n")] = '\0';
    snprintf(path, sizeof(path), "/proc/%s/maps", argv[1]);
    FILE *maps = fopen(path, "r");
    snprintf(path, sizeof(path), "/proc/%s/mem", argv[1]);
    int memory = open(path, O_RDONLY | O_CLOEXEC);
    if (maps == NULL || memory < 0) {
        return 2;
    }
    while (fgets(line, sizeof(line), maps) != NULL) {
        if (sscanf(line, "%lx-%lx r", &begin, &end) == 2) {
            found |= is_in(memory, begin, end, text, strlen(text));
        }
    }
    return found != 0 ? 0 : 1;
}
