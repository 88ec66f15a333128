/* SPDX-License-Identifier: Apache-2.0 */
#include "io/home.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

/* Bytes: an entry is a name, a path, and texts of a line each. */
#define ENTRY_MAX 16384

int hf_home_find(char *out, size_t size)
{
    char text[ENTRY_MAX];
    struct passwd entry;
    struct passwd *found = NULL;
    int number;
    do {
        number = getpwuid_r(geteuid(), &entry, text, sizeof(text), &found);
    } while (number == EINTR);
    if (found == NULL) {
        return number == 0 || number == ESRCH ? ENOENT : number;
    }
    const char *home = found->pw_dir != NULL ? found->pw_dir : "";
    size_t len = strlen(home);
    if (len >= size) {
        return ENAMETOOLONG;
    }
    memcpy(out, home, len + 1);
    return 0;
}
