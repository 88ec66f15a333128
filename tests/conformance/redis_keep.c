/* SPDX-License-Identifier: Apache-2.0 */
/* How long a counter is kept that is ahead of the server's clock: until the
 * clock is past it, and then fence_keep. Less, and it could be granted again;
 * more, and the keys of unused names fill the server. Each script that writes
 * it; here it is 2,000 s ahead, and fence_keep is 3,600 s. */
#include "redis_story.h"

#define KEPT                                                                   \
    {"! PTTL $F", ">5585000"},                                                 \
    {                                                                          \
        "! PTTL $F", "<5600001"                                                \
    }

static const struct line hinted[] = {
    {"x try", "ok new"},
    {"x release T=own", "ok"},
    {"a try T=top+2000000000", "ok new"},
    KEPT,
};

static const struct line hinted_together[] = {
    {"x try", "ok new"},
    {"x release T=own", "ok"},
    {"a try s T=top+2000000000", "ok new"},
    KEPT,
};

static const struct line raised[] = {
    {"x try", "ok new"},
    {"x raise T=own+2000000000", "ok new"},
    KEPT,
};

static const struct line raised_together[] = {
    {"x try s", "ok new"},
    {"x raise T=own+2000000000", "ok new"},
    KEPT,
};

static const struct line released[] = {
    {"x try", "ok new"},
    {"x release T=own+2000000000", "ok new"},
    KEPT,
};

static const struct line handed_over[] = {
    {"x try", "ok new"},
    {"a wait", "queued"},
    {"x release T=own+2000000000", "ok new > a"},
    KEPT,
};

static const struct line handed_over_together[] = {
    {"x try", "ok new"},
    {"a wait s", "queued"},
    {"x release T=own+2000000000", "ok new > a"},
    KEPT,
};

int main(void)
{
    static struct teller teller;
    static struct server server;
    server_start_still(&server, NULL);
    teller_open(&teller, &server);
    TELL(&teller, "hinted", hinted);
    TELL(&teller, "hinted-together", hinted_together);
    TELL(&teller, "raised", raised);
    TELL(&teller, "raised-together", raised_together);
    TELL(&teller, "released", released);
    TELL(&teller, "handed-over", handed_over);
    TELL(&teller, "handed-over-together", handed_over_together);
    teller_close(&teller);
    server_remove(&server);
    return tap_done();
}
