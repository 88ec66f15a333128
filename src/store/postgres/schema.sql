-- SPDX-License-Identifier: Apache-2.0
-- PostgreSQL 12 and later: the rules of a lock node, as functions. They do the
-- same as src/store/redis/*.lua, and model/RULES.md names the rules.
--
--   psql -v ON_ERROR_STOP=1 -f schema.sql DATABASE
--   GRANT USAGE ON SCHEMA holdfast TO app;
--
-- Running this file again replaces the functions and keeps the rows.
--
-- THE VERBS. A name and an owner are bytes; a name includes the prefix of the
-- URL. Spans are in ms; counters, tickets and clocks in us. Arguments have the
-- order and the meaning of the scripts' ARGV. `alone`: the call is the only one
-- of its transaction, so that a transaction that grants nothing may be committed
-- without a sync to disk.
--
--   acquire(lock_name bytea, caller bytea, ttl_ms bigint, hint bigint = 0,
--       marker text = NULL, keep_ms bigint = 3600000, mode text = 'x',
--       overtake boolean = false, place_ms bigint = 0, ticket bigint = 0,
--       channel text = '', cookie bigint = 0, returned bigint = 0,
--       alone boolean = false) -> answer              ACQUIRE, and YIELD
--   confirm(lock_name bytea, caller bytea, ttl_ms bigint, fence bigint,
--       marker text = NULL, keep_ms bigint = 3600000, holder boolean = false,
--       mode text = 'x') -> answer
--   release(lock_name bytea, caller bytea, fence bigint = 0,
--       reserve_ms bigint = 0, keep_ms bigint = 3600000, marker text = NULL,
--       alone boolean = false) -> answer
--   break_lock(lock_name bytea, caller bytea, at_once boolean, marker text,
--       keep_ms bigint, max_ttl_ms bigint, back bytea = '') -> answer
--   inspect(lock_name bytea) -> answer
--   list(lock_name bytea, most integer = 1000) -> rows of seat, at least one
--   mark(lock_name bytea, marker text, fence bigint, left_ms bigint,
--       owner bytea) -> answer                        fence 0: only read
--   marker(expected text, fresh text, whole boolean, host text, seen_ms bigint,
--       VARIADIC facts text[]) -> integer             facts may be '{}'
--   look(most integer = 5) -> rows (held bigint, waited bigint, name bytea), at
--       least one; name: one of the first, or NULL
--   ahead(marker text, keep_ms bigint, max_ttl_ms bigint) -> bigint
--       marker '': only count; -1: the marker has changed, or the node votes
--   value_get(lock_name bytea) -> (verdict 1, version bigint, data bytea)
--   value_put(lock_name bytea, expected bigint, id text, keep_ms bigint,
--       data bytea) -> (verdict 1 or 0, version bigint, data NULL)
--       expected NULL: any; keep_ms NULL: write, else delete
--
-- and what Redis has as commands:
--
--   scan(prefix bytea, after bytea, most integer) -> rows (name bytea): names
--       with a holder, a waiter or a mark, in byte order, above `after`
--   facts() -> rows (field text, content text): the fields of the marker (v,
--       whole, at:..., and those that marker() was given), and of this server
--       server:now_us, :version (server_version_num), :recovery, :durable
--       ("1"/"0": commits are on disk when they return), :system (identifier),
--       :timeline, :start (us, of the postmaster), :pid (of this backend),
--       :synchronous ("1": a synchronous standby is configured), :schema
--   listen(channel text): LISTEN, and hold the advisory lock that shows
--       granters that this session listens; once per session. A payload is
--       "cookie counter", as in PUBLISH.
--   sweep(after bytea, most integer = 100) -> bytea: delete idle names among the
--       next ones; the name at which to go on, empty after the last
--   schema_version() -> integer
--
-- answer: (verdict integer, counter bigint, left_ms bigint, owner bytea,
--     floor bigint, bound bigint, ticket bigint, ahead bigint, node_us bigint,
--     terms integer, sharers integer, waiters bigint)
--   verdict  1 yours or done, 0 not yours, 2 queued, -1 the marker has changed
--   left_ms  of the lease of `owner`; -2: free, and owner is empty
--   floor, bound   of CONFIRM: T was below or above; else 0
--   ticket, ahead  of "queued"; ahead 1 of "yours": an earlier ticket waits
--   node_us  of a refusal, and of a grant far ahead of the clock; else 0
--   waiters  of INSPECT and MARK's kin; else 0
-- seat: the columns of answer (verdict 1), the same in every row, then
--     seat_owner bytea, seat_left_ms bigint, seat_ticket bigint (0: a sharer),
--     seat_mode text; all NULL if there is none
--
-- Marker NULL: whatever marker the node has; for use from psql.
-- Channel '': the waiter polls. It is not pushed to, and keeps its place; the
-- name stays free for it until its place ends. A waiter whose channel no session
-- listens on is removed, as in Redis.
--
-- ERRORS, by SQLSTATE; all but the last change nothing, and are no refusal:
--   55P03  the name's row stayed locked for half a second: unknown
--   HF002  fences of this name are used up
--   HF003  the schema is of a newer version
--   25001  the transaction is not READ COMMITTED
--   22023  an argument is out of range
--   an error or a warning at COMMIT: unknown
--
-- HOW. A verb locks the row of the name in a statement of its own; all that it
-- reads after that, queue and clock too, is as of then, since each statement of
-- a VOLATILE function has a new snapshot in READ COMMITTED. Every change of a
-- name's waiters and sharers is made under that lock. A refused try takes none.
-- EXCEPTION blocks would use up a transaction id each, and are not used.
-- In a transaction of several statements nothing is held until COMMIT, and the
-- row stays locked until then.
BEGIN;
SET LOCAL client_min_messages = warning;
SET LOCAL lock_timeout = '10s';
SELECT pg_catalog.pg_advisory_xact_lock(1751543397, 0); -- one at a time

-- Functions that run with their owner's rights must not lie in another role's
-- schema, which could replace them.
DO $do$
DECLARE
    other text;
    present integer := 0;
BEGIN
    IF pg_catalog.current_setting('server_version_num')::int < 120000 THEN
        RAISE EXCEPTION 'holdfast: locks need PostgreSQL 12 or later';
    END IF;
    SELECT pg_catalog.quote_ident(r.rolname) INTO other
        FROM pg_catalog.pg_namespace n
        JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner
        WHERE n.nspname = 'holdfast' AND r.rolname <> current_user;
    IF FOUND THEN
        RAISE EXCEPTION 'holdfast: schema holdfast belongs to %, not to %',
            other, current_user
            USING HINT = 'Install as the owner of the schema.';
    END IF;
    IF pg_catalog.to_regclass('holdfast.version') IS NOT NULL THEN
        SELECT v.version INTO present FROM holdfast.version v;
    END IF;
    IF present > 1 THEN
        RAISE EXCEPTION 'holdfast: schema holdfast has version %, newer than 1',
            present
            USING ERRCODE = 'HF003', HINT = 'Use a newer holdfast.';
    END IF;
END
$do$;

CREATE SCHEMA IF NOT EXISTS holdfast;

-- ---- Tables ---------------------------------------------------------------

CREATE TABLE IF NOT EXISTS holdfast.version (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    version integer NOT NULL
);
INSERT INTO holdfast.version (version) VALUES (1)
    ON CONFLICT (is_only) DO UPDATE SET version = 1;

-- No column that a verb changes is indexed, and pages have room: updates are
-- HOT. Times are in ms of holdfast.clock().
--   owner      NULL: free; "ended:" and an owner: reserved after a release; of a
--              group "shared:<terms>-<counter at which it began>"
--   until      end of the lease, of a group that of the longest sharer; a lease
--              is live in this ms, a sharer or a place is not
--   terms      -1: exclusive; 0: readers; N: a semaphore of N permits
--   last       owner of the counter, NULL: none; counter and last are void
--              after kept_until
CREATE TABLE IF NOT EXISTS holdfast.lock (
    name bytea PRIMARY KEY CHECK (octet_length(name) BETWEEN 1 AND 1280),
    owner bytea,
    until bigint NOT NULL DEFAULT 0,
    terms integer NOT NULL DEFAULT -1,
    counter bigint NOT NULL DEFAULT 0,
    last bytea,
    kept_until bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS holdfast.sharer (
    name bytea NOT NULL,
    owner bytea NOT NULL,
    until bigint NOT NULL,
    counter bigint NOT NULL,
    PRIMARY KEY (name, owner)
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS holdfast.waiter (
    name bytea NOT NULL,
    owner bytea NOT NULL,
    ticket bigint NOT NULL,
    until bigint NOT NULL,
    mode text NOT NULL,
    place_ms bigint NOT NULL,
    channel text NOT NULL,
    cookie bigint NOT NULL,
    PRIMARY KEY (name, owner)
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS waiter_order
    ON holdfast.waiter (name, ticket, owner);

-- Marks of --once. Owner '': a tombstone.
CREATE TABLE IF NOT EXISTS holdfast.once (
    name bytea PRIMARY KEY,
    fence bigint NOT NULL,
    owner bytea NOT NULL,
    until bigint NOT NULL
) WITH (fillfactor = 50);

-- The marker of this server (core/quarantine.h), as hf:node in Redis. Field "v"
-- has the value, and the time-line on which it was written.
CREATE TABLE IF NOT EXISTS holdfast.node (
    field text COLLATE "C" PRIMARY KEY,
    content text NOT NULL,
    timeline text
) WITH (fillfactor = 50);

-- Versioned values. Data NULL: deleted; its version is kept until then.
CREATE TABLE IF NOT EXISTS holdfast.value (
    name bytea PRIMARY KEY CHECK (octet_length(name) BETWEEN 1 AND 1280),
    version bigint NOT NULL,
    id text NOT NULL,
    data bytea,
    until bigint
);

DO $do$
BEGIN
    IF pg_catalog.to_regtype('holdfast.answer') IS NULL THEN
        CREATE TYPE holdfast.answer AS (
            verdict integer, counter bigint, left_ms bigint, owner bytea,
            floor bigint, bound bigint, ticket bigint, ahead bigint,
            node_us bigint, terms integer, sharers integer, waiters bigint);
    END IF;
    IF pg_catalog.to_regtype('holdfast.seat') IS NULL THEN
        CREATE TYPE holdfast.seat AS (
            verdict integer, counter bigint, left_ms bigint, owner bytea,
            floor bigint, bound bigint, ticket bigint, ahead bigint,
            node_us bigint, terms integer, sharers integer, waiters bigint,
            seat_owner bytea, seat_left_ms bigint, seat_ticket bigint,
            seat_mode text);
    END IF;
    -- A name while a verb works on it: its row as of `us`, without what has
    -- expired by then.
    IF pg_catalog.to_regtype('holdfast.state') IS NULL THEN
        CREATE TYPE holdfast.state AS (
            name bytea, owner bytea, until bigint, terms integer,
            counter bigint, last bytea, kept_until bigint,
            us bigint, now bigint, floor bigint, sharers integer,
            keep_ms bigint, is_taken boolean, grants integer);
    END IF;
END
$do$;

COMMIT;
