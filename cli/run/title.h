/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper in ps: "holdfast-keeper" is its name, and "(keeper)" replaces
 * "holdfast" in its command line. So a search for the command line of
 * `holdfast run` finds one process. */
#ifndef CLI_TITLE_H
#define CLI_TITLE_H

/* In the keeper, once, after the fork. Writes over the arguments in place: no
 * pointer into argv[0] may be used as a path afterwards. */
void cli_title_keeper(void);

#endif
