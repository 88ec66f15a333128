/* SPDX-License-Identifier: Apache-2.0 */
/* ORDERED ENTRIES: A LOCK ON A STORE THAT AGREES BY CONSENSUS
 *
 * The store is one log. A client opens a session, creates an entry that lives
 * no longer than the session, and gets its order number, which is its fence. It
 * lists the entries and applies the rule of core/entry_rule.h. A waiter watches
 * one entry. A client renews its session and proves its entry: first the
 * renewal is answered, then a read that was sent after that shows the entry.
 * Its deadline is the sending of the last such renewal + TTL.
 *
 * Time is ticks, at one rate. A session surely lives for TTL after the last
 * renewal was executed, and ends at any time after that. So what a server adds
 * (up to a second TTL, a change of leader) is in it. Each request may be
 * executed at any later time, or never; each answer may be lost. A create may
 * be executed after its attempt was released. A list may be from any earlier
 * time since the session was opened. A client that does not act for a while is
 * a client whose steps come later.
 *
 * Claims
 *   C4    two that exclude one another never believe at once that they hold,
 *         also if a holder's entry is replaced by a breaker's, which then lives
 *         for TTL. A client believes until its deadline. Not claimed of a
 *         client whose entry was removed by hand
 *   C2    completed later: greater number, if they exclude one another
 *   E1    no renewal moves the deadline if the entry was removed by hand before
 *         its proof was asked for (WEAK_READS: before it was executed)
 *   HERD  the end of one entry wakes at most one writer
 *   From every state all clients can finish, and no entry is left. With TTL=0
 *   the sessions live on, so no entry disappears by itself.
 *
 * Numbers are those of one log, so that C1 is no claim. */
#include "ordered_log.h"

static void state_init(struct state *state)
{
    (void)state;
}

static bool state_is_goal(const struct state *state)
{
    for (int k = 0; k < CLIENTS; k++) {
        if (!has_ended(&state->clients[k])) {
            return false;
        }
        for (int s = 0; s < SESSIONS; s++) {
            if (state->clients[k].creates[s] != 0) {
                return false;
            }
        }
    }
    for (int n = 1; n <= NUMBERS; n++) {
        if (state->entries[n] != 0) {
            return false;
        }
    }
    return true;
}

/* ---- A client ---------------------------------------------------------- */

static bool is_in_time(const struct client *client)
{
    return TTL == 0 || client->good > 0;
}

static bool believes(const struct state *state, int k)
{
    const struct client *client = &state->clients[k];
    return client->phase == HOLDING && is_in_time(client) &&
           !client->is_evicted;
}

static void reach_at(const struct state *next, enum kind kind, int k, int value)
{
    for (int i = 0; i < CLIENTS; i++) {
        for (int j = 0; j < i; j++) {
            if (believes(next, i) && believes(next, j) &&
                excludes(code_of(i, 0), code_of(j, 0))) {
                broken("C4");
            }
        }
    }
    struct step step = {(uint8_t)kind, (uint8_t)k, 0, (uint8_t)value};
    reach(next, step);
}

static void forget_requests(struct client *client)
{
    client->stage = NONE;
    client->age = 0;
    client->was_there = 0;
    client->proof_is_late = 0;
    client->has_list = 0;
    client->own = 0;
    client->behind = 0;
    client->watch = 0;
    client->is_woken = 0;
}

static void finish(struct client *client, enum phase phase)
{
    forget_requests(client);
    client->phase = (uint8_t)phase;
    client->is_evicted = 0;
    client->good = 0;
    if (phase != LEAVING) {
        client->number = 0;
    }
}

static void hold(struct state *state, int k)
{
    struct client *client = &state->clients[k];
    bool shares = is_reader(code_of(k, 0));
    client->phase = HOLDING;
    client->watch = 0;
    client->is_woken = 0;
    if (client->is_evicted) {
        return;
    }
    if (client->number <= state->completed[shares ? 0 : 1]) {
        broken("C2");
    }
    for (int i = shares; i < 2; i++) {
        if (state->completed[i] < client->number) {
            state->completed[i] = client->number;
        }
    }
}

/* In a session after the first the attempt and its owner go on. */
static void open_session(struct client *client)
{
    forget_requests(client);
    client->phase = OPENING;
    client->number = 0;
    client->good = 0;
    client->is_evicted = 0;
    client->stage = SENT;
}

static bool may_requeue(const struct client *client, int k)
{
    return (REQUEUERS >> k & 1) != 0 && client->session + 1 < SESSIONS;
}

static void lose_entry(const struct state *state, int k, enum kind kind)
{
    struct state next = *state;
    struct client *client = &next.clients[k];
    if (client->phase != HOLDING && may_requeue(client, k)) {
        client->session++;
        client->creates_sent = 0;
        open_session(client);
    } else {
        finish(client, LEAVING);
    }
    reach_at(&next, kind, k, 0);
}

/* ---- Creating ---------------------------------------------------------- */

static void send_create(struct client *client)
{
    client->creates[client->session]++;
    client->creates_sent++;
}

/* @return the number of the entry, which may have been there before; or 0. */
static uint8_t create(struct state *state, int k, int session)
{
    uint8_t code = code_of(k, session);
    if (!state->is_alive[k][session]) {
        return 0;
    }
    for (uint8_t n = 1; n <= NUMBERS && !DUPLICATES; n++) {
        if (state->entries[n] == code) {
            return n;
        }
    }
    state->entries[++state->next] = code;
    return state->next;
}

static void execute_creates(const struct state *state, int k)
{
    for (int s = 0; s < SESSIONS; s++) {
        if (state->clients[k].creates[s] == 0) {
            continue;
        }
        struct state next = *state;
        struct client *client = &next.clients[k];
        client->creates[s]--;
        uint8_t number = create(&next, k, s);
        reach_at(&next, CREATED_SILENTLY, k, number);
        if (number != 0 && client->phase == CREATING && client->session == s) {
            client->number = number;
            client->phase = WAITING;
            reach_at(&next, CREATED, k, number);
        }
    }
}

/* ---- Listing and watching ---------------------------------------------- */

static uint8_t own_entry(const struct state *state, int k)
{
    const struct client *client = &state->clients[k];
    for (uint8_t n = 1; n <= NUMBERS; n++) {
        bool is_own = COMPARES_SESSION
                          ? state->entries[n] == code_of(k, client->session)
                          : is_of(state->entries[n], k);
        if (is_own &&
            (client->number == 0 || client->number == n || !COMPARES_SESSION)) {
            return n;
        }
    }
    return 0;
}

static void execute_list(const struct state *state, int k)
{
    const struct client *client = &state->clients[k];
    bool may_list = client->phase == CREATING ||
                    (client->phase == WAITING &&
                     (POLLS || client->watch == 0 || client->is_woken));
    if (client->has_list || !may_list) {
        return;
    }
    struct state next = *state;
    struct client *lister = &next.clients[k];
    lister->has_list = 1;
    lister->own = own_entry(state, k);
    if (lister->own != 0 || !NEEDS_OWN) {
        uint8_t place = lister->own != 0 ? lister->own : NUMBERS + 1;
        lister->behind = entry_before(state, place, code_of(k, 0));
    }
    reach_at(&next, LISTED, k, 0);
}

static void hear_list(const struct state *state, int k)
{
    struct state next = *state;
    struct client *client = &next.clients[k];
    if (!client->has_list) {
        return;
    }
    uint8_t own = client->own;
    uint8_t behind = client->behind;
    client->has_list = client->own = client->behind = 0;
    if (!NEEDS_OWN && own == 0) {
        own = client->number;
    }
    if (own != 0 && (client->number == 0 || !COMPARES_SESSION)) {
        client->number = own;
        client->phase = WAITING;
    }
    client->watch = client->is_woken = 0;
    if (own != 0 && own == client->number) {
        client->watch = behind;
        client->is_woken = behind != 0 && state->entries[behind] == 0;
        if (behind == 0 && is_in_time(client)) {
            hold(&next, k);
        }
    }
    reach_at(&next, HEARD_LIST, k, 0);
}

static void hear_event(const struct state *state, int k)
{
    struct state next = *state;
    struct client *client = &next.clients[k];
    if (!client->is_woken) {
        return;
    }
    if (!READS_AGAIN && is_in_time(client)) {
        hold(&next, k);
        reach_at(&next, TOOK_EVENT, k, 0);
        return;
    }
    if (state->lost_watches != LOST_WATCHES) {
        client->is_woken = 0;
        next.lost_watches++;
        reach_at(&next, WATCH_LOST, k, 0);
    }
}

/* ---- Renewing ---------------------------------------------------------- */

static void prove(struct client *client)
{
    uint8_t good = (uint8_t)(FROM_SENDING ? TTL - client->age : TTL);
    if (client->good < good) {
        client->good = good;
        if (client->proof_is_late) {
            broken("E1");
        }
    }
    client->stage = NONE;
    client->age = 0;
    client->was_there = 0;
    client->proof_is_late = 0;
}

static void execute_renewal(const struct state *state, int k)
{
    struct state next = *state;
    struct client *client = &next.clients[k];
    uint8_t s = client->session;
    if (client->phase == OPENING) {
        next.is_alive[k][s] = 1;
    }
    client->stage = next.is_alive[k][s] ? RENEWED : REFUSED;
    client->age = client->stage == REFUSED ? 0 : client->age;
    next.left[k][s] = next.is_alive[k][s] ? TTL : 0;
    client->was_there = WEAK_READS && is_there(state, k);
    client->proof_is_late = WEAK_READS && client->is_evicted;
    reach_at(&next, RENEWAL_EXECUTED, k, 0);
}

static void hear_renewal(const struct state *state, int k)
{
    struct state next = *state;
    struct client *client = &next.clients[k];
    if (client->phase == OPENING) {
        client->phase = CREATING;
        prove(client);
        send_create(client);
        reach_at(&next, OPENED, k, 0);
        return;
    }
    if (!WEAK_READS) {
        client->proof_is_late = client->is_evicted;
    }
    if (!PROVES || (PROVES == 2 && client->phase != HOLDING)) {
        prove(client);
    } else if (client->number != 0) {
        client->stage = READING;
    } else {
        client->stage = NONE; /* there is no entry that it could prove */
        client->age = client->was_there = client->proof_is_late = 0;
    }
    reach_at(&next, HEARD_RENEWAL, k, 0);
}

static void execute_read(const struct state *state, int k)
{
    struct state next = *state;
    bool found = is_there(state, k);
    next.clients[k].stage = found ? FOUND : MISSING;
    reach_at(&next, READ_EXECUTED, k, found);
    if (!found && state->clients[k].was_there) {
        next.clients[k].stage = FOUND;
        reach_at(&next, READ_EXECUTED, k, 1);
    }
}

static void renew(const struct state *state, int k)
{
    struct state next = *state;
    struct client *client = &next.clients[k];
    switch ((enum stage)client->stage) {
    case NONE:
        client->stage = SENT;
        reach_at(&next, RENEWS, k, 0);
        return;
    case SENT:
        execute_renewal(state, k);
        break;
    case RENEWED:
        hear_renewal(state, k);
        break;
    case READING:
        execute_read(state, k);
        break;
    case FOUND:
        prove(client);
        reach_at(&next, HEARD_READ, k, 1);
        return;
    case REFUSED:
    case MISSING:
        lose_entry(state, k,
                   client->stage == REFUSED ? HEARD_RENEWAL : HEARD_READ);
        return;
    }
    if (client->phase != OPENING) {
        client->stage = NONE;
        client->age = client->was_there = client->proof_is_late = 0;
        reach_at(&next, DROPPED, k, 0);
    }
}

/* ---- Ending ------------------------------------------------------------ */

static void leave(const struct state *state, int k, enum kind kind)
{
    struct state next = *state;
    finish(&next.clients[k], LEAVING);
    reach_at(&next, kind, k, 0);
}

/* DELETE names number and owner. Without a number there is nothing to delete
 * yet: clean() does it. */
static void end(const struct state *state, int k)
{
    struct state next = *state;
    struct client *client = &next.clients[k];
    if (client->number != 0 &&
        state->entries[client->number] == code_of(k, client->session)) {
        remove_entry(&next, client->number);
        reach_at(&next, DELETED, k, client->number);
        return;
    }
    finish(client, DONE);
    reach_at(&next, ENDED, k, 0);
}

/* With each renewal a client compares the entries of its session with those of
 * its attempts. */
static void clean(const struct state *state, int k)
{
    const struct client *client = &state->clients[k];
    bool is_over = client->phase == DONE && CLEANS;
    bool knows = client->number != 0 || !STRANGER_BY_OWNER;
    for (int n = 1; n <= NUMBERS; n++) {
        if (state->entries[n] == code_of(k, client->session) &&
            (is_over || (knows && client->phase != DONE)) &&
            client->number != n) {
            struct state next = *state;
            remove_entry(&next, n);
            reach_at(&next, CLEANED, k, n);
        }
    }
}

/* ---- Faults ------------------------------------------------------------ */

static void crash(const struct state *state, int k)
{
    struct state next = *state;
    if (state->crashes != CRASHES && !has_ended(&state->clients[k])) {
        next.crashes++;
        finish(&next.clients[k], CRASHED);
        reach_at(&next, CRASHED_NOW, k, 0);
    }
}

static void harm_entry(const struct state *state, int n)
{
    uint8_t code = state->entries[n];
    if (code == 0 || code == BREAKER) {
        return;
    }
    int k = (code - 1) / SESSIONS;
    int session = (code - 1) % SESSIONS;
    bool is_current = state->clients[k].session == session;
    if (state->breaks != BREAKS && entry_before(state, n, code) == 0) {
        struct state next = *state;
        next.breaks++;
        next.entries[n] = BREAKER;
        next.breaker_left = TTL;
        reach_at(&next, BROKEN_BY, k, n);
    }
    if (state->removals != REMOVALS) {
        struct state next = *state;
        next.removals++;
        next.clients[k].is_evicted |= is_current;
        remove_entry(&next, n);
        reach_at(&next, REMOVED, k, n);
    }
    if (state->revokes != REVOKES) {
        struct state next = *state;
        next.revokes++;
        next.clients[k].is_evicted |= is_current;
        end_session(&next, k, session);
        reach_at(&next, REVOKED, k, n);
    }
}

/* ---- Time -------------------------------------------------------------- */

static void count_down(uint8_t *ticks)
{
    *ticks -= *ticks > 0;
}

static void tick(const struct state *state)
{
    struct state next = *state;
    for (int k = 0; k < CLIENTS; k++) {
        struct client *client = &next.clients[k];
        for (int s = 0; s < SESSIONS; s++) {
            count_down(&next.left[k][s]);
        }
        count_down(&client->good);
        client->age += client->stage != NONE && client->age != TTL;
        if (client->phase == HOLDING && client->good == 0) {
            finish(client, LEAVING);
        }
    }
    count_down(&next.breaker_left);
    reach_at(&next, TICK, 0, 0);
}

static void expire(const struct state *state, int k)
{
    for (int s = 0; s < SESSIONS; s++) {
        if (state->is_alive[k][s] && state->left[k][s] == 0) {
            struct state next = *state;
            end_session(&next, k, s);
            reach_at(&next, EXPIRED, k, 0);
        }
    }
}

static void expire_breaker(const struct state *state)
{
    for (int n = 1; n <= NUMBERS; n++) {
        if (state->entries[n] == BREAKER && state->breaker_left == 0) {
            struct state next = *state;
            remove_entry(&next, n);
            reach_at(&next, BREAKER_EXPIRED, 0, n);
        }
    }
}

/* ---- Transitions ------------------------------------------------------- */

static void advance(const struct state *state, int k)
{
    const struct client *client = &state->clients[k];
    struct state next = *state;
    switch ((enum phase)client->phase) {
    case IDLE:
        open_session(&next.clients[k]);
        reach_at(&next, OPENS, k, 0);
        break;
    case OPENING:
        renew(state, k);
        break;
    case CREATING:
        if (client->creates_sent < CREATES) {
            send_create(&next.clients[k]);
            reach_at(&next, CREATES_ENTRY, k, 0);
        }
        /* fall through */
    case WAITING:
        renew(state, k);
        if (TTL > 0 && client->good == 0 && may_requeue(client, k)) {
            lose_entry(state, k, REQUEUED);
        }
        if ((LEAVERS >> k & 1) != 0) {
            leave(state, k, GAVE_UP);
        }
        break;
    case HOLDING:
        renew(state, k);
        leave(state, k, STOPPED);
        break;
    case LEAVING:
        end(state, k);
        break;
    case DONE:
    case CRASHED:
        break;
    }
}

static void state_next(const struct state *state)
{
    for (int k = 0; k < CLIENTS; k++) {
        advance(state, k);
        execute_creates(state, k);
        execute_list(state, k);
        hear_list(state, k);
        hear_event(state, k);
        crash(state, k);
        if (state->clients[k].phase != CRASHED) {
            clean(state, k);
        }
        if (TTL > 0) {
            expire(state, k);
        }
    }
    for (int n = 1; n <= NUMBERS; n++) {
        harm_entry(state, n);
    }
    if (TTL > 0) {
        tick(state);
        expire_breaker(state);
    }
}
