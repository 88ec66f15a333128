/* SPDX-License-Identifier: Apache-2.0 */
#include "run/title.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

/* The command line is still in use, so its words cannot move in memory: a word
 * is overwritten by one of the same length. */
void cli_title_keeper(void)
{
    static const char from[] = "holdfast", to[] = "(keeper)";
    _Static_assert(sizeof(from) == sizeof(to), "written over each other");
    char *slash = strrchr(program_invocation_name, '/');
    char *name = slash != NULL ? slash + 1 : program_invocation_name;
    if (strcmp(name, from) == 0) {
        memcpy(name, to, sizeof(to));
    }
    (void)prctl(PR_SET_NAME, "holdfast-keeper");
}
