/* SPDX-License-Identifier: Apache-2.0 */
/* library: hf_zookeeper */
/* The raw limit of waiting on ZooKeeper: processes in a ring, each of which
 * watches a node of its own, which the one before it writes.
 *
 *   zookeeper_wake --address HOST:PORT [--read 1] [options of contenders.h]
 *
 * A turn is a write and the event that reports it: a bare watch. No lock: the
 * order is fixed. A watch fires once, so the next one is set with the write.
 * With --read the process that is woken lists once before it goes on, as each
 * recipe must: an event alone proves nothing. */
#include "contenders.h"
#include "zookeeper.h"

#define FOLDER "/bench-turn"

struct ring {
    const char *address;
    int n;
    bool must_read;
};

struct turn {
    struct zk zk;
    char own[64];
    char next[64];
    bool is_first; /* has its turn at the beginning */
    bool must_read;
};

static void turn_watch(struct turn *turn)
{
    struct zk *zk = &turn->zk;
    zk->events = 0;
    zk_asked(zk, zoo_awexists(zk->library, turn->own, zk_on_event, zk,
                              zk_on_stat, zk));
}

static void *turn_open(int index, void *arg)
{
    const struct ring *ring = arg;
    struct turn *turn = must_alloc(1, sizeof(*turn));
    (void)snprintf(turn->own, sizeof(turn->own), FOLDER "/%03d", index);
    (void)snprintf(turn->next, sizeof(turn->next), FOLDER "/%03d",
                   (index + 1) % ring->n);
    zk_open(&turn->zk, ring->address);
    zk_create(&turn->zk, FOLDER, 0);
    zk_create(&turn->zk, turn->own, 0);
    zk_await(&turn->zk);
    turn->is_first = index == 0;
    turn->must_read = ring->must_read;
    turn_watch(turn);
    zk_await(&turn->zk);
    return turn;
}

static void turn_take(void *client)
{
    struct turn *turn = client;
    struct zk *zk = &turn->zk;
    while (!turn->is_first && zk->events == 0) {
        zk_pump(zk);
    }
    turn->is_first = false;
    if (turn->must_read) {
        zk_asked(zk,
                 zoo_aget_children2(zk->library, FOLDER, 0, zk_on_list, zk));
        zk_await(zk);
    }
}

static void turn_give(void *client)
{
    struct turn *turn = client;
    struct zk *zk = &turn->zk;
    turn_watch(turn);
    zk_asked(zk, zoo_aset(zk->library, turn->next, "", 0, -1, zk_on_stat, zk));
    zk_await(zk);
}

static void turn_close(void *client)
{
    struct turn *turn = client;
    zk_close(&turn->zk);
    free(turn);
}

int main(int argc, char **argv)
{
    struct crowd_plan plan;
    struct ring ring = {.address = arg_text(argc, argv, "--address", ""),
                        .must_read = arg_int(argc, argv, "--read", 0) != 0};
    struct crowd_side side = {.label = "wake",
                              .open = turn_open,
                              .take = turn_take,
                              .give = turn_give,
                              .close = turn_close,
                              .arg = &ring};
    crowd_parse(&plan, argc, argv);
    ring.n = plan.n_clients;
    return crowd_run(&plan, &side);
}
