/* SPDX-License-Identifier: Apache-2.0 */
/* How a keeper appears in ps: "holdfast-keeper" as its name, and "(keeper)" in
 * place of "holdfast" in its command line, so that nothing that looks for the
 * command line of `holdfast run` finds two processes. */
#ifndef CLI_TITLE_H
#define CLI_TITLE_H

void cli_title_keeper(void);

#endif
