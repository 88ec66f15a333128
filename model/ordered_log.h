/* SPDX-License-Identifier: Apache-2.0 */
/* ORDERED ENTRIES: THE LOG
 *
 * Of ordered.c: the entries and sessions of the store, the rule of
 * core/entry_rule.h, and which states are alike. */
#ifndef MODEL_ORDERED_LOG_H
#define MODEL_ORDERED_LOG_H

#include "ordered_state.h"

static bool has_ended(const struct client *client)
{
    return client->phase == DONE || client->phase == CRASHED;
}

/* ---- Entries ----------------------------------------------------------- */

static uint8_t code_of(int k, int session)
{
    return (uint8_t)(1 + k * SESSIONS + session);
}

static bool is_of(uint8_t code, int k)
{
    return code != 0 && code != BREAKER && (code - 1) / SESSIONS == k;
}

static bool is_reader(uint8_t code)
{
    return code != BREAKER && (READERS >> ((code - 1) / SESSIONS) & 1) != 0;
}

static bool excludes(uint8_t a, uint8_t b)
{
    return !is_reader(a) || !is_reader(b);
}

/* The entry that the owner of `n` has to wait for; 0: it holds. */
static uint8_t entry_before(const struct state *state, int n, uint8_t code)
{
    uint8_t found = 0;
    for (int i = 1; i < n; i++) {
        uint8_t other = state->entries[i];
        if (other != 0 && excludes(other, code) &&
            (WATCHES_LATEST || found == 0)) {
            found = (uint8_t)i;
        }
    }
    return found;
}

static bool is_there(const struct state *state, int k)
{
    const struct client *client = &state->clients[k];
    uint8_t code = state->entries[client->number];
    return client->number != 0 && (code == code_of(k, client->session) ||
                                   (!COMPARES_OWNER && code != 0));
}

/* Its watchers hear of it, unless that is lost. */
static void remove_entry(struct state *state, int n)
{
    int writers = 0;
    state->entries[n] = 0;
    for (int k = 0; k < CLIENTS; k++) {
        struct client *client = &state->clients[k];
        if (client->phase == WAITING && client->watch == n) {
            client->is_woken = 1;
            writers += !is_reader(code_of(k, 0)) && is_there(state, k);
        }
    }
    if (writers > 1) {
        broken("HERD");
    }
}

static void end_session(struct state *state, int k, int session)
{
    state->is_alive[k][session] = 0;
    state->left[k][session] = 0;
    for (int n = 1; n <= NUMBERS; n++) {
        if (state->entries[n] == code_of(k, session)) {
            remove_entry(state, n);
        }
    }
}

/* ---- Alike states: of numbers only the order matters ------------------ */

/* A session in which nothing can happen any more. */
static void drop_idle_sessions(struct state *state)
{
    for (int k = 0; k < CLIENTS; k++) {
        const struct client *client = &state->clients[k];
        for (int s = 0; s < SESSIONS; s++) {
            bool is_used = client->creates[s] != 0 ||
                           (client->session == s && !has_ended(client));
            for (int n = 1; n <= NUMBERS; n++) {
                is_used = is_used || state->entries[n] == code_of(k, s);
            }
            if (!is_used) {
                state->is_alive[k][s] = state->left[k][s] = 0;
            }
        }
    }
}

/* What completed matters only beside entries that are not later. */
static void drop_completed(struct state *state)
{
    for (int i = 0; i < 2; i++) {
        bool is_used = false;
        for (int n = 1; n <= state->completed[i]; n++) {
            is_used = is_used || state->entries[n] != 0;
        }
        for (int k = 0; k < CLIENTS; k++) {
            const struct client *client = &state->clients[k];
            is_used = is_used ||
                      (client->number != 0 &&
                       client->number <= state->completed[i]) ||
                      (client->own != 0 && client->own <= state->completed[i]);
        }
        if (!is_used) {
            state->completed[i] = 0;
        }
    }
}

static void mark_used(const struct state *state, bool used[NUMBERS + 1])
{
    for (int n = 1; n <= NUMBERS; n++) {
        used[n] = state->entries[n] != 0;
    }
    for (int k = 0; k < CLIENTS; k++) {
        const struct client *client = &state->clients[k];
        used[client->number] = used[client->own] = true;
        used[client->behind] = used[client->watch] = true;
    }
    used[state->completed[0]] = used[state->completed[1]] = true;
}

static void state_canonical(struct state *state)
{
    bool used[NUMBERS + 1];
    uint8_t rank[NUMBERS + 1] = {0};
    drop_idle_sessions(state);
    drop_completed(state);
    mark_used(state, used);
    state->next = 0;
    for (int n = 1; n <= NUMBERS; n++) {
        if (used[n]) {
            rank[n] = ++state->next;
            state->entries[rank[n]] = state->entries[n];
        }
    }
    for (int n = state->next + 1; n <= NUMBERS; n++) {
        state->entries[n] = 0;
    }
    for (int k = 0; k < CLIENTS; k++) {
        struct client *client = &state->clients[k];
        client->number = rank[client->number];
        client->own = rank[client->own];
        client->behind = rank[client->behind];
        client->watch = rank[client->watch];
    }
    state->completed[0] = rank[state->completed[0]];
    state->completed[1] = rank[state->completed[1]];
}

#endif
