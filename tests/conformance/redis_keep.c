/* SPDX-License-Identifier: Apache-2.0 */
/* How long a counter that is ahead of the server's clock is kept: until the
 * clock has passed it, and then fence_keep. If it were kept for less, it could
 * be granted again; if for more, keys of unused names would fill the server.
 * Tests each script that writes it, with a counter 2,000 s ahead and a
 * fence_keep of 3,600 s. */
#include "script_trace.h"

#define KEPT                                                                   \
    {"! PTTL $F", ">5585000"},                                                 \
    {                                                                          \
        "! PTTL $F", "<5600001"                                                \
    }

static const struct trace_line hinted[] = {
    {"x try", "ok new"},
    {"x release T=own", "ok"},
    {"a try T=top+2000000000", "ok new"},
    KEPT,
};

static const struct trace_line hinted_together[] = {
    {"x try", "ok new"},
    {"x release T=own", "ok"},
    {"a try s T=top+2000000000", "ok new"},
    KEPT,
};

static const struct trace_line raised[] = {
    {"x try", "ok new"},
    {"x raise T=own+2000000000", "ok new"},
    {"! PTTL $L", "<10001"}, /* the lease is another time */
    KEPT,
};

static const struct trace_line raised_together[] = {
    {"x try s", "ok new"},
    {"x raise T=own+2000000000", "ok new"},
    {"! PTTL $L", "<10001"},
    KEPT,
};

static const struct trace_line released[] = {
    {"x try", "ok new"},
    {"x release T=own+2000000000", "ok new"},
    KEPT,
};

static const struct trace_line handed_over[] = {
    {"x try", "ok new"},
    {"a wait", "queued"},
    {"x release T=own+2000000000", "ok new > a"},
    KEPT,
};

static const struct trace_line handed_over_together[] = {
    {"x try", "ok new"},
    {"a wait s", "queued"},
    {"x release T=own+2000000000", "ok new > a"},
    KEPT,
};

int main(void)
{
    static struct script_trace trace;
    static struct server server;
    server_start_still(&server, NULL);
    script_trace_open(&trace, &server);
    TRACE_RUN(&trace, "hinted", hinted);
    TRACE_RUN(&trace, "hinted-together", hinted_together);
    TRACE_RUN(&trace, "raised", raised);
    TRACE_RUN(&trace, "raised-together", raised_together);
    TRACE_RUN(&trace, "released", released);
    TRACE_RUN(&trace, "handed-over", handed_over);
    TRACE_RUN(&trace, "handed-over-together", handed_over_together);
    script_trace_close(&trace);
    server_remove(&server);
    return tap_done();
}
