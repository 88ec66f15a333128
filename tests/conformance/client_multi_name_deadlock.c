/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Callers that ask for overlapping sets of names: no deadlock, and no livelock.
 */
#include "client_names.h"

/* ---- No deadlock ------------------------------------------------------- */

enum {
    PHILOSOPHERS = 5,
    ENOUGH_MS = 2000,   /* a server that agrees on each write needs minutes for
                           the work that Redis does in a second: */
    ROUNDS_LEAST = 100, /* beyond these rounds, no new one begins after that */
};

struct table {
    char forks[PHILOSOPHERS][80];
    int in_use[PHILOSOPHERS]; /* guarded only by the locks */
    uint64_t fences[PHILOSOPHERS];
    int n_forks;
    int rounds;
    atomic_int failures;
};

struct seat {
    struct table *table;
    int first, second;
};

static bool is_in_order(struct table *table, int fork, uint64_t fence)
{
    bool is_alone =
        __atomic_fetch_add(&table->in_use[fork], 1, __ATOMIC_RELAXED) == 0;
    uint64_t last =
        __atomic_exchange_n(&table->fences[fork], fence, __ATOMIC_RELAXED);
    return is_alone && fence > last;
}

static void *dine(void *arg)
{
    struct seat *seat = arg;
    struct table *table = seat->table;
    struct hf_client *client = open_client();
    int64_t enough = now_ms() + ENOUGH_MS;
    for (int i = 0; i < table->rounds; i++) {
        if (i >= ROUNDS_LEAST && now_ms() > enough) {
            break;
        }
        struct wish all;
        struct hf_lock *lock = NULL;
        struct hf_error error;
        wish(&all, table->forks[seat->first], table->forks[seat->second], NULL,
             LEASE_MS, 60000);
        if (hf_lock_acquire(client, &all.request, &lock, &error) != HF_OK) {
            print_message("%s\n", error.text);
            atomic_fetch_add(&table->failures, 1);
            break;
        }
        bool is_right =
            is_in_order(table, seat->first, hf_lock_fence_at(lock, 0));
        is_right &= is_in_order(table, seat->second, hf_lock_fence_at(lock, 1));
        is_right &= hf_lock_valid_for(lock, 1);
        __atomic_fetch_sub(&table->in_use[seat->first], 1, __ATOMIC_RELAXED);
        __atomic_fetch_sub(&table->in_use[seat->second], 1, __ATOMIC_RELAXED);
        if (!is_released(lock) || !is_right) {
            atomic_fetch_add(&table->failures, 1);
        }
    }
    hf_client_close(client);
    return NULL;
}

static void dine_all(struct table *table, struct seat *seats, int n)
{
    pthread_t threads[PHILOSOPHERS];
    const char *prefix = fresh_name();
    (void)world_url(); /* created once, before there are threads */
    for (int i = 0; i < table->n_forks; i++) {
        snprintf(table->forks[i], sizeof(table->forks[i]), "%s.%d", prefix, i);
    }
    for (int i = 0; i < n; i++) {
        seats[i].table = table;
        pthread_create(&threads[i], NULL, dine, &seats[i]);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&table->failures), 0);
    struct hf_client *client = open_client();
    for (int i = 0; i < table->n_forks; i++) {
        assert_free(client, table->forks[i]);
    }
    hf_client_close(client);
}

static void test_opposite_orders(void **state)
{
    (void)state;
    struct table table = {.n_forks = 2, .rounds = 1000};
    struct seat seats[] = {{.first = 0, .second = 1},
                           {.first = 1, .second = 0}};
    dine_all(&table, seats, 2);
}

static void test_philosophers(void **state)
{
    (void)state;
    struct table table = {.n_forks = PHILOSOPHERS, .rounds = 60};
    struct seat seats[PHILOSOPHERS];
    for (int i = 0; i < PHILOSOPHERS; i++) {
        seats[i] = (struct seat){.first = i, .second = (i + 1) % PHILOSOPHERS};
    }
    dine_all(&table, seats, PHILOSOPHERS);
}

/* ---- Tries that meet: not all of them stand back ----------------------- */

enum { RIVALS = 3, MEETINGS = 60 };

/* Tries that meet stand back, and try again some milliseconds later. In a round
 * that took so long, on a loaded machine, none may have won. */
#define ROUND_LATE_MS 100

struct meeting {
    struct trio names;
    pthread_barrier_t barrier;
    atomic_int winners;
    atomic_int late;
    int won;   /* rounds */
    int wrong; /* those without exactly one holder */
};

struct rival {
    struct meeting *meeting;
    int number;
};

/* A try that fails, or a release that was late, may free its names after it has
 * returned: the next round begins when they are free. */
static void end_round(struct meeting *meeting, struct hf_client *client)
{
    int winners = atomic_exchange(&meeting->winners, 0);
    int late = atomic_exchange(&meeting->late, 0);
    meeting->won += winners;
    meeting->wrong += winners > 1 || (winners == 0 && late == 0);
    assert_free(client, meeting->names.a);
    assert_free(client, meeting->names.b);
    assert_free(client, meeting->names.c);
}

static void *meet(void *arg)
{
    struct rival *rival = arg;
    struct meeting *meeting = rival->meeting;
    struct trio *names = &meeting->names;
    struct hf_client *client = open_client();
    const char *orders[][3] = {{names->a, names->b, names->c},
                               {names->c, names->a, names->b},
                               {names->b, names->c, names->a}};
    const char **order = orders[rival->number];
    for (int i = 0; i < MEETINGS; i++) {
        struct wish all;
        struct hf_lock *lock = NULL;
        wish(&all, order[0], order[1], order[2], 20000, 0);
        pthread_barrier_wait(&meeting->barrier);
        int64_t began_ms = now_ms();
        if (hf_lock_acquire(client, &all.request, &lock, NULL) == HF_OK) {
            atomic_fetch_add(&meeting->winners, 1);
        }
        pthread_barrier_wait(&meeting->barrier);
        atomic_fetch_add(&meeting->late, now_ms() - began_ms > ROUND_LATE_MS);
        hf_lock_release(lock);
        pthread_barrier_wait(&meeting->barrier);
        pthread_barrier_wait(&meeting->barrier); /* end_round() */
    }
    hf_client_close(client);
    return NULL;
}

static void test_tries_that_meet(void **state)
{
    (void)state;
    struct meeting meeting = {.names = fresh_trio()};
    struct rival rivals[RIVALS];
    pthread_t threads[RIVALS];
    struct hf_client *client = open_client();
    pthread_barrier_init(&meeting.barrier, NULL, RIVALS + 1);
    for (int i = 0; i < RIVALS; i++) {
        rivals[i] = (struct rival){&meeting, i};
        pthread_create(&threads[i], NULL, meet, &rivals[i]);
    }
    for (int i = 0; i < MEETINGS; i++) {
        for (int step = 0; step < 3; step++) { /* begun, tried, released */
            pthread_barrier_wait(&meeting.barrier);
        }
        end_round(&meeting, client);
        pthread_barrier_wait(&meeting.barrier);
    }
    for (int i = 0; i < RIVALS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&meeting.barrier);
    hf_client_close(client);
    assert_int_equal(meeting.wrong, 0);
    assert_true(meeting.won > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opposite_orders),
        cmocka_unit_test(test_philosophers),
        cmocka_unit_test(test_tries_that_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
