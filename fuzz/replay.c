/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a target over files and folders of files, without libFuzzer: the corpus
 * as an ordinary test, with any compiler.
 *
 *     replay-TARGET corpus/TARGET
 */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#define PATH_MAX_HERE 4096

static unsigned n_run;

static void stop(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(2);
}

static void run_file(const char *path, size_t size)
{
    uint8_t *data = malloc(size + 1);
    FILE *file = fopen(path, "rb");
    if (data == NULL || file == NULL || fread(data, 1, size, file) != size) {
        stop(path);
    }
    fclose(file);
    /* Allocate exactly its size, so that a read past its end is found. */
    uint8_t *exact = malloc(size);
    if (exact == NULL && size > 0) {
        stop(path);
    }
    if (size > 0) {
        memcpy(exact, data, size);
    }
    free(data);
    fprintf(stderr, "# %s\n", path); /* the last one printed is the one that
                                        failed */
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    n_run++;
}

static void run_path(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0) {
        stop(path);
    }
    if (!S_ISDIR(about.st_mode)) {
        run_file(path, (size_t)about.st_size);
        return;
    }
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort);
    if (n < 0) {
        stop(path);
    }
    for (int i = 0; i < n; i++) {
        char inner[PATH_MAX_HERE];
        snprintf(inner, sizeof(inner), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') {
            run_path(inner);
        }
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        run_path(argv[i]);
    }
    printf("%u inputs\n", n_run);
    return n_run > 0 ? 0 : 2;
}
