/* SPDX-License-Identifier: Apache-2.0 */
/* Killing all processes that a command started.
 *
 *     cli_kill_tree_open(&tree);                    before the first fork
 *     prctl(PR_SET_CHILD_SUBREAPER, 1);             in each that will kill
 *     … block SIGCHLD, fork and execute the command as `group` …
 *     cli_kill_tree_signal(&tree, group, SIGTERM);  as often as wanted
 *     left = cli_kill_tree_end(&tree, group, 0, until);
 *
 * cli_kill_tree_end() blocks until `until` at most. A process that is no
 * subreaper misses descendants whose parent has ended. */
#ifndef CLI_KILL_TREE_H
#define CLI_KILL_TREE_H

#include "base/time.h"
#include "out.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A program that executes `holdfast run` has few children: a logger, a sleep.
 * Any more are ended with the command. */
#define CLI_KILL_OTHERS_MAX 32

/* What is needed to find descendants. A forked process uses its copy. */
struct cli_kill_tree {
    int proc;     /* /proc; -1: it does not show our processes */
    int spare[2]; /* kept free for cli_kill_tree_end() */

    /* Children of before the command: of the program that executed this one.
     * None is reaped before cli_kill_tree_end(), so each keeps its number. */
    pid_t others[CLI_KILL_OTHERS_MAX];
    size_t n_others;
};

/* @return 0, or an errno: EMFILE and ENFILE if descriptors ran out, any other
 * if /proc does not show the processes of this pid namespace. Then
 * cli_kill_tree_end() kills only a process group. */
int cli_kill_tree_open(struct cli_kill_tree *tree);

/* Kill and reap all descendants of this process, which is a subreaper, but for
 * those `others` and their descendants.
 *
 * @param group     the command's process group, killed first; 0: none.
 * @param killed    a descendant that got SIGKILL before and is not waited for:
 *                  the keeper, which may be frozen; 0: none.
 * @param until     when it gives up.
 * @return 0 when no process is left that could run; else a process that did not
 * die in time, or -1 if there may be one that /proc does not show.
 *
 * SIGCHLD must be blocked. */
pid_t cli_kill_tree_end(struct cli_kill_tree *tree, pid_t group, pid_t killed,
                        struct hf_instant until);

/* Signal a process group whose leader may have ended: only if a descendant is
 * in it, since its number may have been used again otherwise. */
void cli_kill_tree_signal(const struct cli_kill_tree *tree, pid_t group,
                          int number);

/* Add "; process N …" for a result that is not 0. */
void cli_kill_tree_put_survivor(struct cli_out *out, pid_t pid);

#endif
