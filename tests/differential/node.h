/* SPDX-License-Identifier: Apache-2.0 */
/* A node that is a database, or the embedded store: what the differential test
 * asks of it. The rows of the last request are the node's until the next. */
#ifndef HF_TESTS_NODE_H
#define HF_TESTS_NODE_H

#include "request.h"

struct node_ops {
    bool is_embedded; /* suite.h has what that leaves out */

    /* Install the schema, with a clock that set_clock() sets; a copy of the
     * schema may have been changed. */
    void *(*open)(const char *schema);
    void (*close)(void *node);
    void (*reset)(void *node); /* delete all; the marker's value is "m1" */
    void (*set_clock)(void *node, int64_t us);
    void (*sweep)(void *node);
    void (*ask)(void *node, const struct request *ask);
    void (*look)(void *node); /* the state of the name: see both.h */
    int (*rows)(const void *node);

    /* Of a column by its name. NULL: it is NULL. Four texts live at a time. */
    const char *(*text)(const void *node, int row, const char *column);

    /* NULL if it has none of these: a CONFIRM as one of a batch, false if the
     * batch leaves it out; pushes, to channels. */
    bool (*renew)(void *node, const struct request *ask);
    void (*listen)(void *node, const char *channel, bool hears);
    void (*hear)(void *node, struct sim_text *text);

    /* The sessions end, and new ones begin. is_server: the server ends too, as
     * by its administrator, and starts again. NULL: it has neither. */
    void (*restart)(void *node, bool is_server);

    /* Break a rule until the node is closed. NULL: the copy of its schema is
     * changed. */
    void (*plant)(const struct planted *planted);
};

/* The shell that has started this program restarts the server, and then closes
 * the pipe $HF_RESTARTED. */
static inline void restart_server(void)
{
    const char *path = getenv("HF_RESTARTED");
    char text[16];
    assert_non_null(path);
    printf("please restart\n");
    fflush(stdout);
    FILE *pipe = fopen(path, "r"); /* waits */
    assert_non_null(pipe);
    assert_non_null(fgets(text, sizeof(text), pipe));
    assert_string_equal(text, "done\n");
    fclose(pipe);
}

#endif
