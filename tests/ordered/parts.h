/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this world.
 *
 *     ordered_world.c  time, faults, the order of events
 *     server.c         the store: one log, sessions that expire
 *     sim_wire.c       the wire: connections, calls
 *     sim_watch.c      its watches
 *     contender.c      attempts of clients: their requests
 *     forcer.c         breaks
 *     once_marks.c     marks of --once: the store's, their clients, the oracle
 *     writer.c         values: the store's, their clients
 *     judge.c          the oracles
 *     judge_values.c   those of values */
#ifndef HF_TESTS_ORDERED_PARTS_H
#define HF_TESTS_ORDERED_PARTS_H

#include "world_plan.h"

#include "store/ordered/ordered.h"

#define CLIENTS_MAX 5 /* one more than any plan has */
#define SLOTS_MAX 5   /* attempts of a client at a time; the first two keep a */
#define KEEPERS 2     /* session of each ttl renewed */
#define NAMES 3       /* that clients contend for */
#define SESSIONS_MAX 4096 /* of a run: more abort it */
#define ENTRIES_MAX 32768 /* and attempts, of a run: more abort it */
#define LIVE_MAX 256      /* entries of a name at one moment */
#define ENDS_MAX 1024     /* ends that are kept: older ones are missed */
#define OWNER_LEN 33      /* digits of the attempt's number, and a colon */
#define NOTE_LEN (OWNER_LEN + 6) /* after "ended:" */
#define GRANTS_MAX 16384         /* whose fences are compared with later ones */
#define FENCES_MAX 8192          /* runs that mark a name */
#define MARK_LEN 128             /* a mark's text, or a value's, at most */
#define WRITERS 3                /* of values, of a client */
#define PUTS_MAX 8192            /* of a run: more abort it */

/* ---- The store ----------------------------------------------------------- */

struct session {
    unsigned client;
    int64_t ttl_s;
    int64_t asked_s; /* its client wanted this ttl */
    bool is_alive;
    struct hf_instant ends;    /* if nothing renews it */
    struct hf_instant ended;   /* not alive: when */
    struct hf_instant proven;  /* sending of the latest renewal executed */
    struct hf_instant renewed; /* when that was executed */
    struct hf_instant untrue;  /* sending of one answered after its end */
};

struct entry {
    unsigned name;
    unsigned session; /* now */
    unsigned before;  /* the one that it was moved from last */
    unsigned born;
    uint32_t attempt;
    enum hf_mode mode;
    uint16_t permits;
    bool is_live;
    bool is_ended; /* the note is a reservation's */
    uint32_t note; /* the attempt that has taken it; 0: none */
    uint64_t version;
    uint64_t number;
    struct hf_instant created;
    struct hf_instant turn; /* nothing is before it: since when */
    struct hf_instant ended;
    uint64_t awaited; /* ended: number of the entry that it waited for */
};

/* The mark of a name, or its value. */
struct mark {
    uint64_t version;  /* 0: there is none */
    uint64_t revision; /* of a value */
    unsigned session;  /* of a mark */
    size_t len;
    char text[MARK_LEN];
};

/* The end of an entry, as watches report it. */
struct end {
    unsigned name;
    uint64_t number;
    uint64_t revision;
    unsigned may_wake; /* clients, as bits */
    unsigned has_woken;
};

struct server {
    uint64_t revision;
    uint64_t term; /* of the leader */
    struct session sessions[SESSIONS_MAX];
    unsigned n_sessions;
    struct entry entries[ENTRIES_MAX];
    unsigned n_entries;
    unsigned first_live; /* those before have ended */
    struct mark marks[NAMES];
    struct mark values[NAMES];
    struct end ends[ENDS_MAX]; /* a ring */
    unsigned n_ends;
};

/* ---- The wire ------------------------------------------------------------ */

enum kind {
    KIND_OPEN,
    KIND_RENEW,
    KIND_CLOSE,
    KIND_OWNED,
    KIND_CREATE,
    KIND_LIST,
    KIND_READ,
    KIND_REPLACE,
    KIND_SCAN,
    KIND_REMOVE,
    KIND_MARK_READ,
    KIND_MARK_WRITE,
    KIND_MARKS,
    KIND_VALUE_READ,
    KIND_VALUE_WRITE
};

struct key {
    unsigned name;
    unsigned session;
    uint32_t attempt;
    enum hf_mode mode;
    uint16_t permits;
    int64_t ttl_s;
    unsigned under;   /* REMOVE: SESSIONS_MAX: under any session */
    uint64_t version; /* READ: 0: not known */
    unsigned listed;  /* READ: which entry; ENTRIES_MAX: by the others */
};

/* A call under way: its request, later the reply to it. */
struct letter {
    struct letter *next;
    enum kind kind;
    unsigned client;
    struct hf_wire_call *call; /* NULL: its connection is gone */
    bool is_answer;
    struct hf_instant sent;
    struct hf_instant at; /* of arrival; never before the one in front */
    uint64_t term;        /* RENEW: known when it was sent; else of execution */
    enum hf_wire_when when;
    uint64_t since;
    uint64_t until;
    int64_t ttl_s;
    unsigned session;
    unsigned name;
    unsigned replaced; /* REPLACE: which entry */
    uint64_t version;
    bool removes;
    bool is_forced; /* by a break, perhaps */
    uint32_t note;
    bool is_ended;
    unsigned from; /* SCAN: names from this one */
    struct key keys[SLOTS_MAX + 1];
    size_t n_keys;
    enum hf_wire_outcome outcome;
    bool is_too_long; /* READ */
    bool is_unchanged;
    bool has_changed;
    uint64_t revision;
    struct mark mark;
    bool is_marked[NAMES]; /* MARKS */
    int64_t clock_ms;
    unsigned listed[LIVE_MAX]; /* entries; READ: ENTRIES_MAX: none */
    size_t n_listed;
    size_t n_unlisted;
};

struct heard {
    struct heard *next;
    uint64_t number; /* 0: not known */
    uint64_t revision;
    struct hf_instant at;
    bool is_end; /* of the watch */
};

struct hf_wire_watch {
    struct hf_wire_watch *next;
    struct hf_wire *wire;
    unsigned name;
    uint64_t number; /* of the one entry; 0: of all */
    uint64_t revision;
    void *user;
    struct heard *heard;
};

struct hf_wire {
    struct world *world;
    unsigned client;
    bool is_up;
    struct hf_instant up_at; /* not up: when it will be */
    uint64_t term; /* of the last reply of this connection that has one */
    struct hf_instant behind_until; /* its member follows a leader that was
                                       replaced */
    int64_t ahead_ms; /* the clock of its member; may be negative */
    struct letter *letters;
    struct hf_wire_watch *watches;
};

/* ---- Clients ------------------------------------------------------------- */

enum stage {
    STAGE_IDLE,
    STAGE_ASKING,
    STAGE_WAITING,
    STAGE_HOLDING,
    STAGE_OVER
};

struct request {
    uint64_t cookie; /* 0: none is pending */
    struct hf_instant asked;
};

struct slot {
    uint32_t attempt; /* its number; never used again */
    enum stage stage; /* OVER: RELEASE is to be answered */
    unsigned name;
    enum hf_mode mode;
    uint16_t permits;
    bool is_keeper;
    bool waits;
    bool has_doubt;  /* it may have left something */
    bool is_revoked; /* its entry was taken away before its time */
    bool must_lose;  /* and a watch tells it, until */
    struct hf_instant lose_by;
    bool is_broken;     /* its entry has, or had, a note */
    bool is_leaving;    /* its CONFIRM detaches it */
    int64_t reserve_ms; /* of its RELEASE */
    int64_t ttl_ms;
    uint64_t number;
    struct request acquire, confirm, release;
    uint64_t cookie;         /* of the last ACQUIRE or CONFIRM */
    struct hf_instant until; /* it believes that it holds */
    struct hf_instant timer;
    struct hf_instant ends; /* it releases then */
    struct hf_instant over;
};

/* It takes a name from its holders, and gives it back or frees it. */
enum force_stage {
    FORCE_IDLE,
    FORCE_TAKING,
    FORCE_TAKEN,
    FORCE_RETURNING,
    FORCE_FREEING
};

struct force {
    uint32_t attempt;
    enum force_stage stage;
    unsigned name;
    bool now;
    char holder[OWNER_LEN + 1];
    struct request request;
    struct hf_instant timer;
    struct hf_instant over;
};

/* It marks a name, and may withdraw that; or reads. */
enum mark_stage { MARK_IDLE, MARK_READING, MARK_MARKING, MARK_WITHDRAWING };

struct marker {
    enum mark_stage stage;
    unsigned name;
    uint64_t fence;
    int64_t length_ms;
    unsigned tries;
    struct hf_instant began; /* the first of them */
    struct request request;
    struct hf_instant timer;
};

/* The greatest fence of a name whose mark was answered, until it is over, or
 * may be replaced. */
struct promise {
    uint64_t fence; /* 0: none */
    struct hf_instant since;
    struct hf_instant until;
};

/* It reads and writes values. */
enum write_stage { WRITE_IDLE, WRITE_READING, WRITE_PUTTING, WRITE_FINDING };

struct writer {
    enum write_stage stage;
    unsigned name;
    bool increments; /* what it reads */
    uint32_t put;    /* its number */
    uint64_t if_version;
    bool is_lost;         /* the reply to a copy of it */
    bool was_found;       /* by a read: if_version is the version found */
    unsigned tries;       /* of the request */
    uint64_t seen[NAMES]; /* the version that it was told last */
    struct request request;
    struct hf_instant timer;
};

/* A PUT; its number is its id. */
struct put {
    unsigned name;
    uint64_t if_version;
    bool deletes;
    uint64_t number;   /* the value */
    unsigned executed; /* how often */
    bool is_over;      /* its client was told that it was not executed */
};

/* A put that was executed. */
struct written {
    uint32_t put;
    uint64_t revision;
    unsigned before; /* the write that it replaced, counted from 1; 0: none */
    struct hf_instant since;
    struct hf_instant until; /* another one has replaced it */
};

struct client {
    struct world *world;
    unsigned index;
    struct hf_ordered ordered;
    struct hf_wire wire;
    struct hf_wire_ops wire_ops; /* of the plan */
    struct hf_instant resumes;   /* paused until then */
    struct hf_instant shortened; /* its last session that was */
    struct slot slots[SLOTS_MAX];
    struct force force;
    struct marker marker;
    struct writer writers[WRITERS];
};

struct grant {
    unsigned name;
    enum hf_mode mode;
    uint16_t permits;
    uint64_t number;
};

struct world {
    const struct world_plan *plan;
    struct world_report *report;
    uint64_t random;
    struct hf_instant now;
    struct server server;
    struct client clients[CLIENTS_MAX];
    struct letter *ghosts; /* requests without a connection */
    uint32_t attempts;
    struct hf_instant reserved[NAMES]; /* no other holder until then */
    bool is_refused[ENTRIES_MAX];      /* tries, by attempt */
    bool is_over[ENTRIES_MAX];
    uint64_t cookies;
    struct grant grants[GRANTS_MAX];
    unsigned n_grants;
    uint64_t fences; /* of marks, so far */
    uint64_t greatest[NAMES];
    bool is_taken[FENCES_MAX];          /* by hand */
    struct hf_instant made[FENCES_MAX]; /* when a mark of the fence was */
    int64_t lasts_ms[FENCES_MAX];
    struct promise promises[NAMES];
    struct put puts[PUTS_MAX];
    uint32_t n_puts;
    struct written written[PUTS_MAX];
    unsigned n_written;
    unsigned last_written[NAMES]; /* the same */
    uint64_t increments;          /* of the counter, answered OK */
    uint64_t unsure;              /* whose answer is unknown for ever */
    struct end *hearing;          /* its event is on the stack */
    bool is_dispatching;          /* clients may ask from inside of an answer */
    bool is_faulty;               /* the plan has a fault */
    bool is_slow;    /* the same, and not only sessions taken away */
    bool is_calm;    /* no faults, no new attempts */
    bool is_closing; /* the keepers end, too */
};

uint64_t draw(struct world *world, uint64_t below);
struct hf_instant later_us(const struct world *world, uint64_t us);
void violate(struct world *world, const char *what);

/* ---- server.c ------------------------------------------------------------ */

/* Execute the request, and fill in the reply. */
void server_execute(struct world *world, struct letter *letter);

/* Sessions beyond their time. */
void server_expire(struct world *world);
struct hf_instant server_next(const struct world *world);
void server_end_session(struct world *world, unsigned session);
void server_elect(struct world *world); /* all sessions are extended */

/** The entry of an attempt, latest first. @return NULL: none. */
struct entry *server_entry(struct world *world, uint32_t attempt,
                           uint64_t number);

/* ---- sim_wire.c ---------------------------------------------------------- */

extern const struct hf_wire_ops sim_wire_ops;

bool wire_ask(struct hf_wire *wire, struct letter letter,
              struct hf_wire_call *call, struct hf_instant now);
void wire_up(struct client *client);
void wire_break(struct client *client);

/* Its client has died: nothing is answered any more. */
void wire_die(struct client *client);
struct hf_instant wire_next(const struct client *client);

/* Do the due events of this client: a request, a reply, an event. */
void wire_step(struct client *client);

void wire_free(struct client *client);

/* How long a message takes, in microseconds. */
uint64_t wire_delay_us(struct world *world);

/* ---- sim_watch.c --------------------------------------------------------- */

bool call_watch(struct hf_wire *wire, const struct hf_wire_watched *scope,
                void *user, struct hf_instant now, struct hf_wire_watch **out);
void call_unwatch(struct hf_wire *wire, struct hf_wire_watch *watch);

/* The first event of the watch, which is due. */
void watch_hear(struct client *client, struct hf_wire_watch *watch);

/* An entry has ended: to all watches that report it. */
void wire_publish(struct world *world, const struct end *end);
void wire_cancel_watch(struct client *client);

/* ---- contender.c --------------------------------------------------------- */

void machine_open(struct client *client);
void contender_open(struct client *client);
struct hf_instant contender_next(const struct client *client);
void contender_step(struct client *client); /* all of its slots that are due */
bool contender_is_idle(const struct client *client);
void slot_disown(struct world *world, uint32_t attempt); /* by hand */
void slot_break(struct world *world, uint32_t attempt);  /* it has a note */
void send_ask(struct client *client, struct hf_ask *ask, uint32_t attempt,
              unsigned name, struct request *request);

/* ---- forcer.c ------------------------------------------------------------ */

struct hf_instant force_next(const struct client *client);
void force_step(struct client *client);

/** @return false: the answer is another one's. */
bool force_answer(struct client *client, const struct hf_answer *answer);
bool force_is_idle(const struct client *client);

/* ---- once_marks.c -------------------------------------------------------- */

/* Milliseconds. Clocks show whole steps, and are wrong by so much at most. */
#define CLOCK_STEP_MS 1000
#define CLOCK_WRONG_MS 100

bool call_mark_read(struct hf_wire *wire, struct hf_bytes name,
                    struct hf_wire_call *call, struct hf_instant now);
bool call_mark_write(struct hf_wire *wire, const struct hf_wire_mark *mark,
                     struct hf_wire_call *call, struct hf_instant now);
bool call_marks(struct hf_wire *wire, struct hf_wire_call *call,
                struct hf_instant now);

/** MARKS: the names. @return how many; of other kinds none. */
size_t marks_fill(const struct letter *letter, struct hf_wire_entry *out,
                  char *names);
void server_mark(struct world *world, struct letter *letter);
void server_unmark(struct world *world, unsigned session); /* it has ended */
void marks_revoked(struct world *world, unsigned session); /* by hand */
struct hf_instant marker_next(const struct client *client);
void marker_step(struct client *client);

/** @return false: the answer is another one's. */
bool marker_answer(struct client *client, const struct hf_answer *answer);
bool marker_is_idle(const struct client *client);

/* ---- writer.c ------------------------------------------------------------ */

bool call_value_read(struct hf_wire *wire, struct hf_bytes name,
                     struct hf_wire_call *call, struct hf_instant now);
bool call_value_write(struct hf_wire *wire, const struct hf_wire_mark *value,
                      struct hf_wire_call *call, struct hf_instant now);
void server_value(struct world *world, struct letter *letter);
void writer_open(struct client *client);
void writer_die(struct client *client);
struct hf_instant writer_next(const struct client *client);
void writer_step(struct client *client);

/** @return false: the answer is another one's. */
bool writer_answer(struct client *client, const struct hf_answer *answer);
bool writer_is_idle(const struct client *client);

/* ---- judge_values.c ------------------------------------------------------ */

/* A write of a value, or of a tombstone, is executed; one is removed. */
void judge_written(struct world *world, unsigned name,
                   const struct mark *value);
void judge_removed(struct world *world, const struct mark *value);

/* Answers: OK; that it was not executed; and that this is since the value has
 * another version. */
void judge_done(struct world *world, const struct writer *writer,
                const struct hf_answer *answer);
void judge_not_done(struct world *world, uint32_t put);
void judge_refused(struct world *world, const struct writer *writer,
                   const struct hf_answer *answer);

/** The answer to a GET. @return the value; 0: there is none. */
uint64_t judge_got(struct world *world, const struct writer *writer,
                   const struct hf_answer *answer);

/* Calm, when no request is under way any more. */
void judge_count(struct world *world);

/* ---- judge.c ------------------------------------------------------------- */

void judge_ok(struct client *client, struct slot *slot,
              const struct hf_answer *answer, struct hf_instant asked);
void judge_grant(struct client *client, struct slot *slot);
void judge_loss(struct client *client, struct slot *slot);
void judge_refused_try(struct client *client, struct slot *slot);
void judge_wake(struct client *client);
void judge_watch(struct client *client, const struct hf_ordered_name *name,
                 const struct hf_wire_watched *scope);

/* Its entry is taken away. */
void judge_revoked(struct client *client, struct slot *slot);
void judge_losses(struct world *world);

/* Without faults: a waiter whose turn it is holds soon. */
void judge_turns(struct world *world);

/* No fault has delayed a request for so long. */
void judge_answers(struct world *world);

/* Calm: of attempts that are over nothing is kept alive. */
void judge_orphans(struct world *world, bool are_none_allowed);

#endif
