-- SPDX-License-Identifier: Apache-2.0
-- PostgreSQL 12 and later: the rules of a lock node, as functions. They do the
-- same as src/store/redis/*.lua, and model/RULES.md names the rules.
--
--   holdfast doctor --print-schema -u postgres: | psql -v ON_ERROR_STOP=1 app
--
-- makes them in the database app, as a role with CREATE on that database, which
-- owns them from then on. Each role whose programs use locks needs one right:
--
--   GRANT USAGE ON SCHEMA holdfast TO worker;
--
-- It needs none on the tables, since the functions run with the owner's rights.
-- New locks count when holdfast doctor --init has declared them, as any role
-- with that right, or after max_ttl. Running this file again replaces the
-- functions and keeps the rows, while programs go on using locks.
--
-- THE VERBS. A name and an owner are bytes; a name includes the prefix of the
-- URL. Spans are in ms; counters, tickets and clocks in us. Arguments have the
-- order and the meaning of the scripts' ARGV. `alone`: the call is the only one
-- of its transaction, which may be committed without a sync to disk if nothing
-- is granted.
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
--   value_get(lock_name bytea) -> (verdict 1, version bigint, data bytea,
--       id text)       version 0, data NULL: there is none; id: of the last
--       write, a deletion too
--   value_put(lock_name bytea, expected bigint, id text, keep_ms bigint,
--       data bytea) -> (verdict 1 or 0, version bigint)
--       expected NULL: any, 0: there must be none; keep_ms NULL: write, else
--       delete, and keep the version for so long; id: of this write, random
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
--       :synchronous ("1": a synchronous standby is configured), :schema (its
--       version). One of a later version has :serves: the least version whose
--       clients it still serves
--   listen(channel text): LISTEN, and hold the advisory lock that shows
--       granters that this session listens. A payload is "cookie counter", as
--       in PUBLISH. A session that also calls verbs may listen on one channel.
--   unlisten(channel text)
--   sweep(after bytea, most integer = 100) -> bytea: delete idle names among
--       the next ones; the name at which to go on, empty after the last. Verbs
--       do the same bit by bit, so this is for a table to be emptied at once.
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
-- Marker NULL: whatever marker the node has, unless it is in quarantine; for
-- use from psql.
-- Channel '': the waiter polls. It is not pushed to, and keeps its place; the
-- name stays free for it until its place ends. A waiter whose channel has no
-- listener is removed, as in Redis.
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
-- Verbs wait behind a statement that waits for a table, and fail after 500 ms.
SET LOCAL lock_timeout = '400ms';

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
    IF present > 2 THEN
        RAISE EXCEPTION 'holdfast: schema holdfast has version %, newer than 2',
            present
            USING ERRCODE = 'HF003', HINT = 'Use a newer holdfast.';
    END IF;
    IF present = 1 THEN -- it returned no id, and a result cannot be replaced
        DROP FUNCTION IF EXISTS holdfast.value_get(bytea);
    END IF;
END
$do$;

CREATE SCHEMA IF NOT EXISTS holdfast;

-- ---- Tables ----------------------------------------------------------------

CREATE TABLE IF NOT EXISTS holdfast.version (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    version integer NOT NULL
);
INSERT INTO holdfast.version (version) VALUES (2)
    ON CONFLICT (is_only) DO UPDATE SET version = 2;

-- No column that a verb changes is indexed, and pages have room: updates are
-- HOT. Times are in ms of holdfast.clock().
--   owner      NULL: free; "ended:" and an owner: reserved after a release; of
--              a group "shared:<terms>-<counter at which it began>"
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
    -- IF NOT EXISTS would lock the table all the same.
    IF pg_catalog.to_regclass('holdfast.waiter_order') IS NULL THEN
        CREATE INDEX waiter_order ON holdfast.waiter (name, ticket, owner);
    END IF;
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


-- ---- The clock, and the marker ---------------------------------------------

-- Microseconds since 1970. Tests replace it.
CREATE OR REPLACE FUNCTION holdfast.clock() RETURNS bigint
LANGUAGE sql VOLATILE AS $fn$
    SELECT (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())
        OPERATOR(pg_catalog.*) 1000000.0)::bigint
$fn$;

CREATE OR REPLACE FUNCTION holdfast.schema_version() RETURNS integer
LANGUAGE sql STABLE AS $fn$
    SELECT v.version FROM holdfast.version v
$fn$;

-- A promotion begins a new time-line, and a pooler may change servers under an
-- open connection. Functions that grant compare it.
CREATE OR REPLACE FUNCTION holdfast.timeline() RETURNS text
LANGUAGE sql VOLATILE AS $fn$
    SELECT pg_catalog.substr(pg_catalog.pg_walfile_name(
        pg_catalog.pg_current_wal_insert_lsn()), 1, 8)
$fn$;

-- Does the node have all locks, as far as is known? Not in quarantine.
CREATE OR REPLACE FUNCTION holdfast.is_whole() RETURNS boolean
LANGUAGE plpgsql STABLE AS $fn$
BEGIN
    RETURN EXISTS (SELECT FROM holdfast.node n WHERE n.field = 'whole');
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.is_marker(marker text) RETURNS boolean
LANGUAGE plpgsql AS $fn$
BEGIN
    PERFORM FROM holdfast.node n
        WHERE n.field = 'v' AND n.timeline = holdfast.timeline()
            AND (n.content = marker OR (marker IS NULL
                AND holdfast.is_whole()));
    RETURN FOUND;
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.check_call(caller bytea, span_ms bigint)
RETURNS void
LANGUAGE plpgsql AS $fn$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION
            'holdfast: the transaction is %, must be READ COMMITTED',
            upper(current_setting('transaction_isolation'))
            USING ERRCODE = '25001';
    ELSIF caller IS NULL OR octet_length(caller) NOT BETWEEN 1 AND 512 THEN
        RAISE EXCEPTION 'holdfast: the owner has % bytes, must be 1 to 512',
            coalesce(octet_length(caller)::text, 'no')
            USING ERRCODE = '22023';
    ELSIF span_ms IS NULL OR span_ms NOT BETWEEN 0 AND 4398046511104 THEN
        RAISE EXCEPTION 'holdfast: a span of % ms, must be 0 to 4398046511104',
            coalesce(span_ms::text, 'no')
            USING ERRCODE = '22023';
    END IF;
END
$fn$;

-- The same as a question. It is one expression, which its callers contain.
CREATE OR REPLACE FUNCTION holdfast.is_usual(caller bytea, span_ms bigint,
    keep_ms bigint)
RETURNS boolean
LANGUAGE sql STABLE AS $fn$
    SELECT pg_catalog.current_setting('transaction_isolation')
            = 'read committed'
        AND pg_catalog.octet_length(caller) BETWEEN 1 AND 512
        AND span_ms BETWEEN 0 AND 4398046511104
        AND keep_ms BETWEEN 0 AND 4398046511104
$fn$;

CREATE OR REPLACE FUNCTION holdfast.fail_used_up() RETURNS void
LANGUAGE plpgsql AS $fn$
BEGIN
    RAISE EXCEPTION 'holdfast: fences of this name are used up'
        USING ERRCODE = 'HF002';
END
$fn$;

-- ---- Idle names ------------------------------------------------------------

-- A name is idle when its counter has expired and it has no holder and no live
-- waiter. Each new row deletes what is idle on some page of its table, a page
-- having many rows: so few idle rows are left, without a timer or a position.
CREATE OR REPLACE FUNCTION holdfast.any_page(of_table regclass)
RETURNS tid[]
LANGUAGE plpgsql STABLE AS $fn$ -- if VOLATILE, there is no Tid Scan
DECLARE
    pages bigint := pg_relation_size(of_table)
        / current_setting('block_size')::bigint;
    page bigint := trunc(random() * pages);
BEGIN
    RETURN ARRAY(SELECT ('(' || page || ',' || i || ')')::tid
        FROM generate_series(1, 226) AS i);
END
$fn$;

-- The caller has locked these names. In a statement of its own: it sees what
-- was committed before that.
CREATE OR REPLACE FUNCTION holdfast.drop_idle(idle bytea[], now bigint)
RETURNS void
LANGUAGE plpgsql AS $fn$
BEGIN
    DELETE FROM holdfast.lock l
        WHERE l.name = ANY (idle) AND NOT EXISTS (SELECT FROM holdfast.waiter w
            WHERE w.name = l.name AND w.until > now);
    DELETE FROM holdfast.waiter w
        WHERE w.name = ANY (idle) AND w.until <= now;
    DELETE FROM holdfast.sharer h
        WHERE h.name = ANY (idle) AND h.until <= now;
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.sweep_page(except_name bytea, now bigint)
RETURNS void
LANGUAGE plpgsql AS $fn$
DECLARE
    idle bytea[];
BEGIN
    SELECT array_agg(b.name) INTO idle
        FROM (SELECT l.name FROM holdfast.lock l
            WHERE l.ctid = ANY (holdfast.any_page('holdfast.lock'))
                AND l.kept_until < now AND l.until < now
                AND l.name <> except_name
            FOR UPDATE SKIP LOCKED) AS b;
    IF idle IS NOT NULL THEN
        PERFORM holdfast.drop_idle(idle, now);
    END IF;
END
$fn$;

-- ---- A name ----------------------------------------------------------------

-- The name as of s.us: drop what has expired. Reads the sharers; called in an
-- expression of a VOLATILE function it sees all that was committed before.
CREATE OR REPLACE FUNCTION holdfast.at_present(s holdfast.state)
RETURNS holdfast.state
LANGUAGE plpgsql STABLE AS $fn$
BEGIN
    s.now := s.us / 1000;
    s.floor := s.us - s.us % 4194304;
    s.sharers := 0;
    s.is_taken := false;
    s.grants := 0;
    IF s.owner IS NOT NULL AND s.terms >= 0 THEN
        SELECT count(*) INTO s.sharers FROM holdfast.sharer h
            WHERE h.name = s.name AND h.until > s.now;
    END IF;
    IF s.until < s.now OR (s.terms >= 0 AND s.sharers = 0) THEN
        s.owner := NULL;
        s.sharers := 0;
    END IF;
    IF s.owner IS NULL THEN
        s.terms := -1;
    END IF;
    IF s.kept_until < s.now THEN
        s.counter := 0;
        s.last := NULL;
        s.kept_until := 0;
    END IF;
    RETURN s;
END
$fn$;

-- Lock the row of a name, then read the clock.
CREATE OR REPLACE FUNCTION holdfast.open(lock_name bytea, keep_ms bigint)
RETURNS holdfast.state
LANGUAGE plpgsql AS $fn$
DECLARE
    s holdfast.state;
BEGIN
    LOOP
        SELECT l.name, l.owner, l.until, l.terms, l.counter, l.last,
                l.kept_until
            INTO s.name, s.owner, s.until, s.terms, s.counter, s.last,
                s.kept_until
            FROM holdfast.lock l WHERE l.name = lock_name
            FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO holdfast.lock (name) VALUES (lock_name)
            ON CONFLICT DO NOTHING;
    END LOOP;
    s.us := holdfast.clock();
    s.keep_ms := keep_ms;
    RETURN holdfast.at_present(s);
END
$fn$;

-- The same without a lock, for verbs that write nothing.
CREATE OR REPLACE FUNCTION holdfast.read(lock_name bytea)
RETURNS holdfast.state
LANGUAGE plpgsql STABLE AS $fn$
DECLARE
    s holdfast.state;
BEGIN
    SELECT l.name, l.owner, l.until, l.terms, l.counter, l.last, l.kept_until
        INTO s.name, s.owner, s.until, s.terms, s.counter, s.last, s.kept_until
        FROM holdfast.lock l WHERE l.name = lock_name;
    IF NOT FOUND THEN
        s.name := lock_name;
        s.until := 0;
        s.terms := -1;
        s.counter := 0;
        s.kept_until := 0;
    END IF;
    s.us := holdfast.clock();
    RETURN holdfast.at_present(s);
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.store(s holdfast.state) RETURNS void
LANGUAGE plpgsql AS $fn$
BEGIN
    UPDATE holdfast.lock l
        SET owner = s.owner, until = s.until, terms = s.terms,
            counter = s.counter, last = s.last, kept_until = s.kept_until
        WHERE l.name = s.name;
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.reply(s holdfast.state, verdict integer)
RETURNS holdfast.answer
LANGUAGE plpgsql IMMUTABLE AS $fn$
BEGIN
    RETURN (verdict, s.counter,
        CASE WHEN s.owner IS NULL THEN -2 ELSE s.until - s.now END,
        coalesce(s.owner, ''), 0, 0, 0, 0, 0, greatest(s.terms, 0), s.sharers,
        0)::holdfast.answer;
END
$fn$;

-- fence_keep counts from the clock's passing of the counter.
CREATE OR REPLACE FUNCTION holdfast.keep(s holdfast.state, v bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE AS $fn$
    SELECT s.now + s.keep_ms + greatest((v - s.us + 999) / 1000, 0)
$fn$;

CREATE OR REPLACE FUNCTION holdfast.write_counter(s holdfast.state, v bigint,
    last bytea)
RETURNS holdfast.state
LANGUAGE plpgsql IMMUTABLE AS $fn$
BEGIN
    s.counter := v;
    s.last := write_counter.last;
    s.kept_until := holdfast.keep(s, v);
    RETURN s;
END
$fn$;

-- ---- Holders ---------------------------------------------------------------

CREATE OR REPLACE FUNCTION holdfast.admits(s holdfast.state, mode text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $fn$
BEGIN
    RETURN s.owner IS NULL OR (s.sharers > 0 AND mode = 's' || s.terms);
END
$fn$;

-- The counter at which `who` has the name; NULL if it does not.
CREATE OR REPLACE FUNCTION holdfast.vote(s holdfast.state, who bytea)
RETURNS bigint
LANGUAGE plpgsql STABLE AS $fn$
BEGIN
    IF s.sharers = 0 THEN
        RETURN CASE WHEN s.owner = who THEN s.counter END;
    END IF;
    RETURN (SELECT h.counter FROM holdfast.sharer h
        WHERE h.name = s.name AND h.owner = who AND h.until > s.now);
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.longest(s holdfast.state) RETURNS bigint
LANGUAGE plpgsql STABLE AS $fn$
BEGIN
    RETURN (SELECT max(h.until) FROM holdfast.sharer h WHERE h.name = s.name);
END
$fn$;

-- Nothing makes a lease shorter.
CREATE OR REPLACE FUNCTION holdfast.stay(s holdfast.state, who bytea,
    ttl_ms bigint)
RETURNS holdfast.state
LANGUAGE plpgsql AS $fn$
BEGIN
    IF s.sharers = 0 THEN
        s.until := greatest(s.until, s.now + ttl_ms);
        RETURN s;
    END IF;
    UPDATE holdfast.sharer h SET until = s.now + ttl_ms
        WHERE h.name = s.name AND h.owner = who AND h.until < s.now + ttl_ms;
    IF FOUND THEN
        s.until := holdfast.longest(s);
    END IF;
    RETURN s;
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.clear(s holdfast.state)
RETURNS holdfast.state
LANGUAGE plpgsql AS $fn$
BEGIN
    IF s.terms >= 0 THEN
        DELETE FROM holdfast.sharer h WHERE h.name = s.name;
    END IF;
    s.owner := NULL;
    s.terms := -1;
    s.sharers := 0;
    RETURN s;
END
$fn$;

-- End the hold of `who`, an owner or a sharer.
CREATE OR REPLACE FUNCTION holdfast.part(s holdfast.state, who bytea)
RETURNS holdfast.state
LANGUAGE plpgsql AS $fn$
BEGIN
    IF s.sharers < 2 THEN
        RETURN holdfast.clear(s);
    END IF;
    DELETE FROM holdfast.sharer h WHERE h.name = s.name AND h.owner = who;
    s.sharers := s.sharers - 1;
    s.until := holdfast.longest(s);
    RETURN s;
END
$fn$;

-- Make `who` an owner at counter v, above the present one. The caller has
-- checked admits().
CREATE OR REPLACE FUNCTION holdfast.install(s holdfast.state, who bytea,
    mode text, ttl_ms bigint, v bigint)
RETURNS holdfast.state
LANGUAGE plpgsql AS $fn$
BEGIN
    s.grants := s.grants + 1;
    IF mode = 'x' THEN
        s.owner := who;
        s.until := s.now + ttl_ms;
        s.terms := -1;
        s.sharers := 0;
        RETURN holdfast.write_counter(s, v, who);
    END IF;
    IF s.sharers = 0 THEN
        s.terms := substr(mode, 2)::integer;
        s.owner := convert_to('shared:' || s.terms || '-' || v, 'UTF8');
        DELETE FROM holdfast.sharer h WHERE h.name = s.name;
    ELSE
        DELETE FROM holdfast.sharer h
            WHERE h.name = s.name AND h.until <= s.now;
    END IF;
    INSERT INTO holdfast.sharer (name, owner, until, counter)
        VALUES (s.name, who, s.now + ttl_ms, v)
        ON CONFLICT (name, owner)
            DO UPDATE SET until = s.now + ttl_ms, counter = v;
    s.sharers := s.sharers + 1;
    s.until := holdfast.longest(s);
    RETURN holdfast.write_counter(s, v, s.owner);
END
$fn$;

-- ---- Waiters ---------------------------------------------------------------

CREATE OR REPLACE FUNCTION holdfast.forget(s holdfast.state, who bytea)
RETURNS void
LANGUAGE plpgsql AS $fn$
BEGIN
    DELETE FROM holdfast.waiter w WHERE w.name = s.name AND w.owner = who;
END
$fn$;

-- Enqueue `who`, or renew its place, which keeps its ticket.
CREATE OR REPLACE FUNCTION holdfast.enter(s holdfast.state, who bytea,
    mode text, place_ms bigint, ticket bigint, channel text, cookie bigint)
RETURNS void
LANGUAGE plpgsql AS $fn$
BEGIN
    UPDATE holdfast.waiter w
        SET until = s.now + enter.place_ms, mode = enter.mode,
            place_ms = enter.place_ms, channel = enter.channel,
            cookie = enter.cookie
        WHERE w.name = s.name AND w.owner = who AND w.until > s.now;
    IF NOT FOUND THEN
        PERFORM holdfast.forget(s, who);
        INSERT INTO holdfast.waiter (name, owner, ticket, until, mode, place_ms,
                channel, cookie)
            VALUES (s.name, who, enter.ticket, s.now + enter.place_ms,
                enter.mode, enter.place_ms, enter.channel, enter.cookie);
    END IF;
END
$fn$;

-- A listener has the lock of its channel. pg_notify() counts no receivers.
CREATE OR REPLACE FUNCTION holdfast.is_heard(channel text) RETURNS boolean
LANGUAGE sql VOLATILE AS $fn$
    SELECT channel = pg_catalog.current_setting('holdfast.channel', true)
        OR NOT pg_catalog.pg_try_advisory_xact_lock_shared(1751543398,
            pg_catalog.hashtext(channel))
$fn$;

-- Grant the name to the first waiters, as long as it admits them. `me`, the
-- caller of the verb, gets it for ttl_ms. Others are notified, and get it for
-- the lease of their place, since they will CONFIRM. A waiter whose channel has
-- no listener is removed; one without a channel polls, and gets the name when
-- it asks.
CREATE OR REPLACE FUNCTION holdfast.serve(s holdfast.state, me bytea,
    ttl_ms bigint, hint bigint)
RETURNS holdfast.state
LANGUAGE plpgsql AS $fn$
DECLARE
    w holdfast.waiter;
    v bigint;
    is_me boolean;
    is_heard boolean;
BEGIN
    WHILE s.owner IS NULL OR s.sharers > 0 LOOP
        SELECT * INTO w FROM holdfast.waiter q
            WHERE q.name = s.name AND q.until > s.now
            ORDER BY q.name, q.ticket, q.owner LIMIT 1;
        EXIT WHEN NOT FOUND;
        v := greatest(s.counter + 1, s.floor);
        is_me := coalesce(w.owner = me, false);
        EXIT WHEN v > 9007199254740991 OR NOT holdfast.admits(s, w.mode)
            OR (w.channel = '' AND NOT is_me);
        is_heard := is_me OR holdfast.is_heard(w.channel);
        -- Those before it are dead.
        DELETE FROM holdfast.waiter q
            WHERE q.name = s.name
                AND (q.ticket, q.owner) <= (w.ticket, w.owner);
        IF is_me THEN
            s := holdfast.install(s, me, w.mode, ttl_ms, greatest(v, hint));
        ELSIF is_heard THEN
            PERFORM pg_notify(w.channel, w.cookie || ' ' || v);
            s := holdfast.install(s, w.owner, w.mode, w.place_ms, v);
        END IF;
    END LOOP;
    RETURN s;
END
$fn$;

-- ---- ACQUIRE, YIELD --------------------------------------------------------

CREATE OR REPLACE FUNCTION holdfast.yours(s holdfast.state, v bigint,
    caller bytea, ticket bigint)
RETURNS holdfast.answer
LANGUAGE plpgsql AS $fn$
DECLARE
    is_behind boolean := false;
BEGIN
    PERFORM holdfast.store(s);
    IF ticket > 0 THEN
        is_behind := EXISTS (SELECT FROM holdfast.waiter w
            WHERE w.name = s.name AND w.until > s.now
                AND (w.ticket, w.owner) < (yours.ticket, caller));
    END IF;
    RETURN (1, v, s.until - s.now, caller, 0, 0, 0, is_behind::integer,
        CASE WHEN v > s.us + 4294967296 THEN s.us ELSE 0 END, 0, 0,
        0)::holdfast.answer;
END
$fn$;

-- Acquire the name for `caller` if no client waits, or it is the first waiter,
-- or it may overtake. Then grant it to the next waiters that may share.
CREATE OR REPLACE FUNCTION holdfast.take(s holdfast.state, caller bytea,
    mode text, ttl_ms bigint, overtake boolean, v bigint)
RETURNS holdfast.state
LANGUAGE plpgsql AS $fn$
DECLARE
    first bytea;
BEGIN
    IF NOT holdfast.admits(s, mode) THEN
        RETURN s;
    END IF;
    SELECT w.owner INTO first FROM holdfast.waiter w
        WHERE w.name = s.name AND w.until > s.now
        ORDER BY w.name, w.ticket, w.owner LIMIT 1;
    IF FOUND AND first <> caller AND NOT overtake THEN
        RETURN s;
    END IF;
    s.is_taken := true;
    IF NOT FOUND THEN
        RETURN holdfast.install(s, caller, mode, ttl_ms, v);
    END IF;
    s := holdfast.install(s, caller, mode, ttl_ms, v);
    PERFORM holdfast.forget(s, caller);
    RETURN holdfast.serve(s, NULL, 0, 0);
END
$fn$;

-- A transaction that grants nothing loses nothing but time if the server stops
-- before it is on disk. Others' writes in the same transaction might not.
CREATE OR REPLACE FUNCTION holdfast.commit_later() RETURNS void
LANGUAGE sql AS $fn$
    SELECT pg_catalog.set_config('synchronous_commit', 'off', true)
$fn$;

CREATE OR REPLACE FUNCTION holdfast.acquire(lock_name bytea, caller bytea,
    ttl_ms bigint, hint bigint DEFAULT 0, marker text DEFAULT NULL,
    keep_ms bigint DEFAULT 3600000, mode text DEFAULT 'x',
    overtake boolean DEFAULT false, place_ms bigint DEFAULT 0,
    ticket bigint DEFAULT 0, channel text DEFAULT '', cookie bigint DEFAULT 0,
    returned bigint DEFAULT 0, alone boolean DEFAULT false)
RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '500ms'
AS $fn$
DECLARE
    s holdfast.state;
    a holdfast.answer;
    own bigint;
    next bigint;
    stamp bigint;
BEGIN
    -- A free name that no client waits for, in a third of the time. Each
    -- expression costs, since plpgsql prepares it anew in each transaction.
    IF mode = 'x' AND hint = 0 AND returned = 0
        AND holdfast.is_usual(caller, ttl_ms, keep_ms) THEN
        PERFORM FROM holdfast.lock l
            WHERE l.name = lock_name AND l.owner IS NULL
            FOR UPDATE;
        IF FOUND THEN
            UPDATE holdfast.lock l
                SET owner = caller, until = n.us / 1000 + ttl_ms, terms = -1,
                    last = caller,
                    counter = greatest(l.counter + 1, n.us - n.us % 4194304),
                    kept_until = n.us / 1000 + keep_ms
                FROM (SELECT holdfast.clock() AS us) AS n
                WHERE l.name = lock_name AND l.counter < n.us
                    AND l.kept_until >= n.us / 1000
                    AND NOT EXISTS (SELECT FROM holdfast.waiter w
                        WHERE w.name = lock_name)
                    AND EXISTS (SELECT FROM holdfast.node m
                        WHERE m.field = 'v' AND m.timeline = holdfast.timeline()
                            AND (m.content = marker OR (marker IS NULL
                                AND holdfast.is_whole())))
                RETURNING 1, l.counter, ttl_ms, caller, 0, 0, 0, 0, 0, 0, 0, 0
                INTO a;
            IF FOUND THEN
                RETURN a;
            END IF;
        END IF;
    END IF;
    PERFORM holdfast.check_call(caller, greatest(ttl_ms, place_ms, keep_ms));
    IF mode !~ '^(x|s[0-9]{1,5})$' THEN
        RAISE EXCEPTION 'holdfast: mode %, must be x, s0 or s and a number',
            mode
            USING ERRCODE = '22023';
    END IF;
    IF NOT holdfast.is_marker(marker) THEN
        a.verdict := -1;
        RETURN a;
    END IF;
    -- A plain try of a name that is held: read, and lock nothing. If sharers
    -- hold it, a waiter may be due that found no listener.
    IF place_ms = 0 AND returned = 0 AND EXISTS (SELECT FROM holdfast.lock l
        WHERE l.name = lock_name AND l.owner <> caller) THEN
        s := holdfast.read(lock_name);
        IF s.owner IS NOT NULL AND NOT holdfast.admits(s, mode)
            AND holdfast.vote(s, caller) IS NULL AND (s.sharers = 0
                OR NOT EXISTS (SELECT FROM holdfast.waiter w
                    WHERE w.name = lock_name)) THEN
            a := holdfast.reply(s, 0);
            a.node_us := s.us;
            RETURN a;
        END IF;
    END IF;
    s := holdfast.open(lock_name, keep_ms);
    IF alone AND s.until = 0 THEN -- a new row
        PERFORM holdfast.sweep_page(lock_name, s.now);
    END IF;
    IF hint > greatest(s.counter, s.us) + 4294967296
        OR hint > 9007199254740991 THEN
        hint := 0; -- from a server whose clock is far ahead
    END IF;
    next := greatest(s.counter + 1, hint, s.floor);
    IF next > 9007199254740991 THEN
        PERFORM holdfast.fail_used_up();
    END IF;
    own := holdfast.vote(s, caller);
    IF returned > 0 AND own = returned THEN
        s := holdfast.part(s, caller);
        own := NULL;
    END IF;
    IF own IS NOT NULL THEN
        s := holdfast.stay(s, caller, ttl_ms);
        RETURN holdfast.yours(s, own, caller, ticket);
    END IF;
    IF returned = 0 OR place_ms = 0 THEN
        s := holdfast.take(s, caller, mode, ttl_ms, overtake, next);
        IF s.is_taken THEN
            RETURN holdfast.yours(s, next, caller, ticket);
        END IF;
    END IF;
    stamp := CASE WHEN ticket > 0 THEN ticket ELSE s.us END;
    IF place_ms > 0 THEN
        PERFORM holdfast.enter(s, caller, mode, place_ms, stamp, channel,
            cookie);
    END IF;
    s := holdfast.serve(s, caller, ttl_ms, hint);
    own := holdfast.vote(s, caller);
    IF own IS NOT NULL THEN
        RETURN holdfast.yours(s, own, caller, ticket);
    END IF;
    IF s.owner IS NULL AND returned > 0 THEN
        s := holdfast.write_counter(s, s.counter, NULL);
    END IF;
    IF place_ms > 0 THEN
        PERFORM holdfast.store(s);
        a := holdfast.reply(s, 2);
        SELECT w.ticket INTO a.ticket FROM holdfast.waiter w
            WHERE w.name = s.name AND w.owner = caller;
        SELECT count(*) INTO a.ahead FROM holdfast.waiter w
            WHERE w.name = s.name AND w.until > s.now
                AND (w.ticket, w.owner) < (a.ticket, caller);
    ELSE
        next := greatest(s.counter + 1, hint, s.floor);
        IF next <= 9007199254740991 THEN
            s := holdfast.take(s, caller, mode, ttl_ms, overtake, next);
        END IF;
        IF s.is_taken THEN
            RETURN holdfast.yours(s, next, caller, ticket);
        END IF;
        PERFORM holdfast.store(s);
        a := holdfast.reply(s, 0);
        a.node_us := s.us;
    END IF;
    IF alone AND s.grants = 0 THEN
        PERFORM holdfast.commit_later();
    END IF;
    RETURN a;
END
$fn$;

-- ---- CONFIRM ---------------------------------------------------------------

-- If the name is the caller's, raise its counter to `fence`, T, and refresh its
-- lease. A T below the floor is refused, or a server that lost its data would
-- agree to a value that another owner's majority has. One above the bound is
-- refused, or one wrong clock could use up the name's fences.
CREATE OR REPLACE FUNCTION holdfast.confirm(lock_name bytea, caller bytea,
    ttl_ms bigint, fence bigint, marker text DEFAULT NULL,
    keep_ms bigint DEFAULT 3600000, holder boolean DEFAULT false,
    mode text DEFAULT 'x')
RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '500ms'
AS $fn$
DECLARE
    s holdfast.state;
    a holdfast.answer;
    own bigint;
    most bigint;
    can_raise boolean;
BEGIN
    -- A renewal, in a third of the time.
    IF holdfast.is_usual(caller, ttl_ms, keep_ms) THEN
        PERFORM FROM holdfast.lock l
            WHERE l.name = lock_name AND l.owner = caller
            FOR UPDATE;
        IF FOUND THEN
            UPDATE holdfast.lock l
                SET until = greatest(l.until, n.us / 1000 + ttl_ms),
                    kept_until = n.us / 1000 + keep_ms
                FROM (SELECT holdfast.clock() AS us) AS n
                WHERE l.name = lock_name AND l.until >= n.us / 1000
                    AND l.kept_until >= n.us / 1000
                    AND l.counter = fence AND fence <= n.us
                    AND EXISTS (SELECT FROM holdfast.node m
                        WHERE m.field = 'v' AND m.timeline = holdfast.timeline()
                            AND (m.content = marker OR (marker IS NULL
                                AND holdfast.is_whole())))
                RETURNING 1, l.counter, l.until - n.us / 1000, caller, 0, 0, 0,
                    0, 0, 0, 0, 0
                INTO a;
            IF FOUND THEN
                RETURN a;
            END IF;
        END IF;
    END IF;
    PERFORM holdfast.check_call(caller, greatest(ttl_ms, keep_ms));
    IF NOT holdfast.is_marker(marker) THEN
        a.verdict := -1;
        RETURN a;
    END IF;
    s := holdfast.open(lock_name, keep_ms);
    most := least(greatest(s.counter, s.us) + 4294967296, 9007199254740991);
    can_raise := s.counter < fence AND fence BETWEEN s.floor AND most;
    own := holdfast.vote(s, caller);
    IF own IS NOT NULL THEN
        s := holdfast.stay(s, caller, ttl_ms);
        IF can_raise THEN
            s := holdfast.write_counter(s, fence, s.owner);
        ELSIF s.kept_until > 0 THEN
            s.kept_until := holdfast.keep(s, greatest(s.counter,
                CASE WHEN fence <= most THEN fence END));
        END IF;
        IF own < fence AND fence BETWEEN s.floor AND most THEN
            IF s.sharers > 0 THEN
                UPDATE holdfast.sharer h SET counter = fence
                    WHERE h.name = s.name AND h.owner = caller;
            END IF;
            own := fence;
        END IF;
        PERFORM holdfast.store(s);
        a := holdfast.reply(s, 1);
        a.counter := own;
        IF fence > most THEN
            a.bound := most;
        ELSIF own < fence THEN
            a.floor := s.floor;
        END IF;
        RETURN a;
    END IF;
    IF holder AND holdfast.admits(s, mode) AND (can_raise OR
        (s.counter = fence AND s.kept_until > 0 AND s.last = caller)) THEN
        s := holdfast.install(s, caller, mode, ttl_ms, fence);
        PERFORM holdfast.forget(s, caller);
        PERFORM holdfast.store(s);
        a := holdfast.reply(s, 1);
        a.counter := fence;
        RETURN a;
    END IF;
    a := holdfast.reply(s, 0);
    IF holdfast.admits(s, mode) AND s.counter < fence AND fence < s.floor THEN
        a.floor := s.floor;
    END IF;
    RETURN a;
END
$fn$;

-- ---- RENEW -----------------------------------------------------------------

-- CONFIRMs of many names that are held, with one commit. The rows are those
-- that CONFIRM would renew by its first statement alone. What needs another
-- rule, or has its row locked by another session, is not among them, and is to
-- be sent as CONFIRM: so a batch waits for no row.
CREATE OR REPLACE FUNCTION holdfast.renew(names bytea[], callers bytea[],
    ttls_ms bigint[], fences bigint[], marker text DEFAULT NULL,
    keep_ms bigint DEFAULT 3600000)
RETURNS TABLE (nth integer, answer holdfast.answer)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '500ms'
AS $fn$
BEGIN
    IF NOT holdfast.is_marker(marker) THEN
        RETURN;
    END IF;
    RETURN QUERY
        WITH mine AS (
            SELECT r.* FROM unnest(names, callers, ttls_ms, fences)
                    WITH ORDINALITY AS r(name, caller, ttl_ms, fence, nth)
                JOIN holdfast.lock l
                    ON l.name = r.name AND l.owner = r.caller
                FOR UPDATE OF l SKIP LOCKED)
        UPDATE holdfast.lock l
            SET until = greatest(l.until, n.us / 1000 + r.ttl_ms),
                kept_until = n.us / 1000 + keep_ms
            FROM mine r, (SELECT holdfast.clock() AS us) AS n
            WHERE l.name = r.name AND l.owner = r.caller
                AND l.until >= n.us / 1000 AND l.kept_until >= n.us / 1000
                AND l.counter = r.fence AND r.fence <= n.us
                AND holdfast.is_usual(r.caller, r.ttl_ms, keep_ms)
            RETURNING r.nth::integer, ROW(1, l.counter, l.until - n.us / 1000,
                r.caller, 0, 0, 0, 0, 0, 0, 0, 0)::holdfast.answer;
END
$fn$;

-- ---- RELEASE ---------------------------------------------------------------

-- Free a name that is the caller's, leave its queue, and grant the name to the
-- first waiter; align the counter of a free name to `fence`. The marker is
-- compared only before a grant, and a fence out of bounds is ignored.
CREATE OR REPLACE FUNCTION holdfast.release(lock_name bytea, caller bytea,
    fence bigint DEFAULT 0, reserve_ms bigint DEFAULT 0,
    keep_ms bigint DEFAULT 3600000, marker text DEFAULT NULL,
    alone boolean DEFAULT false)
RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '500ms'
AS $fn$
DECLARE
    s holdfast.state;
    a holdfast.answer;
    is_mine boolean;
    was_mine boolean;
    is_last boolean;
    has_queue boolean;
BEGIN
    -- The holder of a name that no client waits for, in a third of the time.
    IF reserve_ms = 0 AND holdfast.is_usual(caller, 0, keep_ms) THEN
        PERFORM FROM holdfast.lock l
            WHERE l.name = lock_name AND l.owner = caller
            FOR UPDATE;
        IF FOUND THEN
            UPDATE holdfast.lock l
                SET owner = NULL, last = NULL
                FROM (SELECT holdfast.clock() / 1000 AS now) AS n
                WHERE l.name = lock_name AND l.until >= n.now
                    AND l.kept_until >= n.now AND fence <= l.counter
                    AND NOT EXISTS (SELECT FROM holdfast.waiter w
                        WHERE w.name = lock_name)
                RETURNING 1, l.counter, -2, '', 0, 0, 0, 0, 0, 0, 0, 0
                INTO a;
            IF FOUND THEN
                IF alone THEN
                    PERFORM holdfast.commit_later();
                END IF;
                RETURN a;
            END IF;
        END IF;
    END IF;
    PERFORM holdfast.check_call(caller, greatest(reserve_ms, keep_ms));
    s := holdfast.open(lock_name, keep_ms);
    has_queue := EXISTS (SELECT FROM holdfast.waiter w
        WHERE w.name = lock_name);
    is_mine := coalesce(s.owner = caller, false);
    is_last := s.last IS NOT NULL AND (is_mine OR s.last = caller);
    was_mine := is_mine
        OR coalesce(s.owner = convert_to('ended:', 'UTF8') || caller, false);
    IF is_mine AND reserve_ms > 0 THEN
        s.owner := convert_to('ended:', 'UTF8') || caller;
        s.until := s.now + reserve_ms;
    ELSIF is_mine THEN
        s.owner := NULL;
    ELSIF holdfast.vote(s, caller) IS NOT NULL THEN
        s := holdfast.part(s, caller);
        was_mine := true;
    END IF;
    IF has_queue THEN
        PERFORM holdfast.forget(s, caller);
    END IF;
    IF is_mine OR s.owner IS NULL THEN
        IF fence > s.counter AND fence <= 9007199254740991
            AND fence <= greatest(s.counter, s.us) + 4294967296 THEN
            s := holdfast.write_counter(s, fence, NULL);
        ELSIF is_last THEN
            s.last := NULL; -- or a late CONFIRM would acquire it again
        END IF;
    END IF;
    a := holdfast.reply(s, CASE WHEN was_mine THEN 1 ELSE 0 END);
    IF has_queue AND (s.owner IS NULL OR s.sharers > 0)
        AND holdfast.is_marker(marker) THEN
        s := holdfast.serve(s, NULL, 0, 0);
    END IF;
    PERFORM holdfast.store(s);
    IF alone AND s.grants = 0 AND reserve_ms = 0 THEN
        PERFORM holdfast.commit_later();
    END IF;
    RETURN a;
END
$fn$;

-- ---- BREAK -----------------------------------------------------------------

-- Take a name from its holder, or from all sharers. The breaker keeps it until
-- the holder's lease expires, or frees it at once. While it keeps the name, the
-- counter stays, so that the name can be returned: `back` is the owner then.
CREATE OR REPLACE FUNCTION holdfast.break_lock(lock_name bytea, caller bytea,
    at_once boolean, marker text, keep_ms bigint, max_ttl_ms bigint,
    back bytea DEFAULT '')
RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '500ms'
AS $fn$
DECLARE
    s holdfast.state;
    a holdfast.answer;
    next bigint;
    is_ended boolean;
BEGIN
    PERFORM holdfast.check_call(caller, greatest(max_ttl_ms, keep_ms));
    IF NOT holdfast.is_marker(marker) THEN
        a.verdict := -1;
        RETURN a;
    END IF;
    s := holdfast.open(lock_name, keep_ms);
    a := holdfast.reply(s, 1);
    next := greatest(s.counter + 1, s.floor);
    IF next > 9007199254740991 THEN
        PERFORM holdfast.fail_used_up();
    END IF;
    a.counter := next;
    IF s.owner = caller THEN
        IF back <> '' THEN
            s.owner := back;
            PERFORM holdfast.store(s);
        END IF;
        RETURN a;
    END IF;
    IF back <> '' THEN
        RETURN a;
    END IF;
    is_ended := coalesce(substr(s.owner, 1, 6) = convert_to('ended:', 'UTF8'),
        false);
    IF NOT is_ended AND a.left_ms > max_ttl_ms THEN
        a.left_ms := max_ttl_ms; -- written before the clock was set back
        s.until := s.now + max_ttl_ms;
    END IF;
    IF s.owner IS NOT NULL AND NOT at_once AND NOT is_ended THEN
        IF s.sharers > 0 THEN
            s := holdfast.clear(s);
            s := holdfast.write_counter(s, next, caller);
        END IF;
        s.owner := caller;
    ELSE
        s := holdfast.clear(s);
        s := holdfast.write_counter(s, next, NULL);
        s := holdfast.serve(s, NULL, 0, 0);
    END IF;
    PERFORM holdfast.store(s);
    RETURN a;
END
$fn$;

-- ---- What only reads -------------------------------------------------------

-- A free name with a mark of --once is shown as "ended:", with the rest of the
-- mark.
CREATE OR REPLACE FUNCTION holdfast.show(s holdfast.state)
RETURNS holdfast.answer
LANGUAGE plpgsql STABLE AS $fn$
DECLARE
    a holdfast.answer := holdfast.reply(s, 1);
    o holdfast.once;
BEGIN
    IF s.owner IS NULL THEN
        SELECT * INTO o FROM holdfast.once m
            WHERE m.name = s.name AND m.until >= s.now AND m.owner <> '';
        IF FOUND THEN
            a.left_ms := o.until - s.now;
            a.owner := convert_to('ended:', 'UTF8') || o.owner;
        END IF;
    END IF;
    SELECT count(*) INTO a.waiters FROM holdfast.waiter w
        WHERE w.name = s.name AND w.until > s.now;
    RETURN a;
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.inspect(lock_name bytea)
RETURNS holdfast.answer
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $fn$
BEGIN
    RETURN holdfast.show(holdfast.read(lock_name));
END
$fn$;

-- First the sharers, in order of arrival; then the waiters, in order.
CREATE OR REPLACE FUNCTION holdfast.list(lock_name bytea,
    most integer DEFAULT 1000)
RETURNS SETOF holdfast.seat
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $fn$
DECLARE
    s holdfast.state := holdfast.read(lock_name);
    a holdfast.answer := holdfast.show(s);
    has_seats boolean := false;
BEGIN
    IF s.sharers > 0 THEN
        RETURN QUERY SELECT a.*, h.owner, h.until - s.now, 0::bigint,
                's' || s.terms
            FROM holdfast.sharer h
            WHERE h.name = lock_name AND h.until > s.now
            ORDER BY h.counter, h.owner LIMIT most;
        has_seats := FOUND;
    END IF;
    RETURN QUERY SELECT a.*, w.owner, w.until - s.now, w.ticket, w.mode
        FROM holdfast.waiter w
        WHERE w.name = lock_name AND w.until > s.now
        ORDER BY w.ticket, w.owner LIMIT most;
    IF NOT FOUND AND NOT has_seats THEN
        RETURN QUERY SELECT a.*, NULL::bytea, NULL::bigint, NULL::bigint,
            NULL::text;
    END IF;
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.scan(prefix bytea, after bytea,
    most integer)
RETURNS TABLE (name bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $fn$
DECLARE
    now bigint := holdfast.clock() / 1000;
BEGIN
    RETURN QUERY SELECT * FROM (
        (SELECT l.name FROM holdfast.lock l
            WHERE l.name > after AND l.name >= prefix
                AND substr(l.name, 1, octet_length(prefix)) = prefix
                AND ((l.owner IS NOT NULL AND l.until >= now
                        AND (l.terms < 0 OR l.until > now))
                    OR EXISTS (SELECT FROM holdfast.waiter w
                        WHERE w.name = l.name AND w.until > now))
            ORDER BY l.name LIMIT most)
        UNION
        (SELECT o.name FROM holdfast.once o
            WHERE o.name > after AND o.name >= prefix
                AND substr(o.name, 1, octet_length(prefix)) = prefix
                AND o.owner <> '' AND o.until >= now
            ORDER BY o.name LIMIT most)) AS found
        ORDER BY 1 LIMIT most;
END
$fn$;

-- ---- Marks of --once -------------------------------------------------------

-- The mark with the greater fence wins. Of equal fences a tombstone (owner '')
-- wins, else the mark that the node has, whose end never moves. So a late or
-- repeated write changes nothing.
CREATE OR REPLACE FUNCTION holdfast.mark(lock_name bytea, marker text,
    fence bigint, left_ms bigint, owner bytea)
RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '500ms'
AS $fn$
#variable_conflict use_column
DECLARE
    o holdfast.once;
    a holdfast.answer;
    now bigint;
BEGIN
    PERFORM holdfast.check_call('x', mark.left_ms);
    IF NOT holdfast.is_marker(marker) THEN
        a.verdict := -1;
        RETURN a;
    END IF;
    LOOP
        SELECT * INTO o FROM holdfast.once m WHERE m.name = lock_name
            FOR UPDATE;
        EXIT WHEN FOUND OR mark.fence = 0;
        INSERT INTO holdfast.once (name, fence, owner, until)
            VALUES (lock_name, 0, '', -1) ON CONFLICT DO NOTHING;
    END LOOP;
    now := holdfast.clock() / 1000;
    IF o.until = -1 THEN -- a new row
        DELETE FROM holdfast.once m
            WHERE m.name IN (SELECT p.name FROM holdfast.once p
                WHERE p.ctid = ANY (holdfast.any_page('holdfast.once'))
                    AND p.until < now AND p.name <> lock_name
                FOR UPDATE SKIP LOCKED);
    END IF;
    IF o.until IS NULL OR o.until < now THEN
        o.fence := 0;
        o.owner := '';
        o.until := now - 2;
    END IF;
    IF mark.fence > o.fence OR
        (mark.fence = o.fence AND mark.owner = '' AND o.owner <> '') THEN
        o.fence := mark.fence;
        o.owner := mark.owner;
        o.until := now + mark.left_ms;
        UPDATE holdfast.once m
            SET fence = o.fence, owner = o.owner, until = o.until
            WHERE m.name = lock_name;
    END IF;
    RETURN (1, o.fence, o.until - now, o.owner, 0, 0, 0, 0, 0, 0, 0,
        0)::holdfast.answer;
END
$fn$;

-- ---- The marker, and this server -------------------------------------------

-- Write the marker if it has the expected value ('': none, '*': any). While the
-- value stays the same, hosts are only added and "whole" is only set; a new one
-- begins without both. Of more than 64 hosts a random one is removed.
CREATE OR REPLACE FUNCTION holdfast.marker(expected text, fresh text,
    whole boolean, host text, seen_ms bigint, VARIADIC facts text[])
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '500ms'
AS $fn$
DECLARE
    value text;
BEGIN
    PERFORM holdfast.check_call('x', 0);
    LOCK TABLE holdfast.node IN SHARE ROW EXCLUSIVE MODE;
    SELECT n.content INTO value FROM holdfast.node n WHERE n.field = 'v';
    value := coalesce(value, '');
    IF expected <> '*' AND value <> expected THEN
        RETURN 0;
    END IF;
    IF value <> fresh THEN
        DELETE FROM holdfast.node;
        INSERT INTO holdfast.node (field, content, timeline)
            VALUES ('v', fresh, holdfast.timeline());
    END IF;
    FOR i IN 1 .. coalesce(array_length(facts, 1), 0) - 1 BY 2 LOOP
        INSERT INTO holdfast.node (field, content)
            VALUES (facts[i], facts[i + 1])
            ON CONFLICT (field) DO UPDATE SET content = excluded.content;
    END LOOP;
    IF whole THEN
        INSERT INTO holdfast.node (field, content) VALUES ('whole', '1')
            ON CONFLICT (field) DO NOTHING;
        DELETE FROM holdfast.node n WHERE substr(n.field, 1, 3) = 'at:';
    ELSIF host <> '' AND
        NOT EXISTS (SELECT FROM holdfast.node n WHERE n.field = host) THEN
        DELETE FROM holdfast.node n WHERE n.field IN (
            SELECT h.field FROM holdfast.node h
                WHERE substr(h.field, 1, 3) = 'at:'
                ORDER BY random() OFFSET 63);
        INSERT INTO holdfast.node (field, content)
            VALUES (host, seen_ms::text);
    END IF;
    RETURN 1;
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.facts()
RETURNS TABLE (field text, content text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $fn$
BEGIN
    RETURN QUERY
        SELECT n.field, n.content FROM holdfast.node n
        UNION ALL
        VALUES ('server:now_us', holdfast.clock()::text),
            ('server:version', current_setting('server_version_num')),
            ('server:schema', holdfast.schema_version()::text),
            ('server:recovery', pg_is_in_recovery()::int::text),
            ('server:durable', (current_setting('fsync')::boolean
                AND current_setting('full_page_writes')::boolean
                AND current_setting('synchronous_commit') <> 'off')::int::text),
            ('server:synchronous',
                (current_setting('synchronous_standby_names') <> '')
                    ::int::text),
            ('server:system',
                (SELECT (c.system_identifier
                    # ('holdfast.lock'::regclass::oid::bigint << 8)
                    # (d.oid::bigint << 20))::text
                FROM pg_control_system() c, pg_database d
                WHERE d.datname = current_database())),
            ('server:timeline', CASE WHEN pg_is_in_recovery() THEN ''
                ELSE holdfast.timeline() END),
            ('server:start', (date_part('epoch', pg_postmaster_start_time())
                * 1000000)::bigint::text),
            ('server:pid', pg_backend_pid()::text);
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.listen(channel text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $fn$
BEGIN
    IF channel IS NULL OR octet_length(channel) NOT BETWEEN 1 AND 63 THEN
        RAISE EXCEPTION 'holdfast: the channel has % bytes, must be 1 to 63',
            coalesce(octet_length(channel)::text, 'no')
            USING ERRCODE = '22023';
    END IF;
    PERFORM pg_advisory_lock(1751543398, hashtext(channel));
    EXECUTE format('LISTEN %I', channel);
    -- A session does not exclude itself (is_heard).
    PERFORM set_config('holdfast.channel', channel, false);
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.unlisten(channel text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $fn$
BEGIN
    EXECUTE format('UNLISTEN %I', channel);
    PERFORM pg_advisory_unlock(1751543398, hashtext(channel));
    PERFORM set_config('holdfast.channel', '', false);
END
$fn$;

-- ---- Surveys of doctor -----------------------------------------------------

-- Locks that are held, names that are waited for, and the first ones held.
CREATE OR REPLACE FUNCTION holdfast.look(most integer DEFAULT 5)
RETURNS TABLE (held bigint, waited bigint, name bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $fn$
DECLARE
    now bigint := holdfast.clock() / 1000;
BEGIN
    RETURN QUERY
        WITH h AS MATERIALIZED (
            SELECT l.name FROM holdfast.lock l
                WHERE l.until >= now AND (l.terms < 0 OR l.until > now)
                    AND substr(l.owner, 1, 6) <> convert_to('ended:', 'UTF8')),
        sums AS (
            SELECT (SELECT count(*) FROM h) AS held,
                (SELECT count(DISTINCT w.name) FROM holdfast.waiter w
                    WHERE w.until > now) AS waited)
        SELECT sums.held, sums.waited, first.name
            FROM sums LEFT JOIN
                (SELECT h.name FROM h ORDER BY h.name LIMIT most) AS first
                ON true;
END
$fn$;

-- Count the counters that are further ahead than a node accepts; with a marker
-- set them back, at a node that has no vote. This is a declared data loss: no
-- completed fence is greater than the bound, which the caller has checked. A
-- lease longer than max_ttl_ms was written while the clock was ahead.
CREATE OR REPLACE FUNCTION holdfast.ahead(marker text, keep_ms bigint,
    max_ttl_ms bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '500ms'
AS $fn$
DECLARE
    us bigint;
    n bigint;
BEGIN
    PERFORM holdfast.check_call('x', greatest(keep_ms, max_ttl_ms));
    IF marker <> '' THEN
        LOCK TABLE holdfast.lock, holdfast.waiter IN SHARE ROW EXCLUSIVE MODE;
    END IF;
    us := holdfast.clock();
    SELECT count(*) INTO n FROM holdfast.lock l
        WHERE l.counter > us + 4294967296 AND l.kept_until >= us / 1000;
    IF marker = '' THEN
        RETURN n;
    END IF;
    IF NOT holdfast.is_marker(marker) OR
        EXISTS (SELECT FROM holdfast.node WHERE field = 'whole') THEN
        RETURN -1;
    END IF;
    UPDATE holdfast.lock l
        SET counter = us + 4294967296, last = NULL,
            kept_until = us / 1000 + 4294968 + keep_ms
        WHERE l.counter > us + 4294967296 AND l.kept_until >= us / 1000;
    UPDATE holdfast.lock l
        SET owner = NULL, terms = -1, until = 0
        WHERE l.owner IS NOT NULL AND l.until > us / 1000 + max_ttl_ms
            AND substr(l.owner, 1, 6) <> convert_to('ended:', 'UTF8');
    DELETE FROM holdfast.waiter;
    RETURN n;
END
$fn$;

-- ---- Values ----------------------------------------------------------------

CREATE OR REPLACE FUNCTION holdfast.value_get(lock_name bytea,
    OUT verdict integer, OUT version bigint, OUT data bytea, OUT id text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $fn$
BEGIN
    verdict := 1;
    SELECT CASE WHEN v.data IS NULL THEN 0 ELSE v.version END, v.data, v.id
        INTO version, data, id FROM holdfast.value v
        WHERE v.name = lock_name
            AND (v.data IS NOT NULL OR v.until >= holdfast.clock() / 1000);
    version := coalesce(version, 0);
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.check_value(id text, keep_ms bigint,
    data bytea)
RETURNS void
LANGUAGE plpgsql AS $fn$
BEGIN
    PERFORM holdfast.check_call('x', coalesce(keep_ms, 0));
    IF id IS NULL OR octet_length(id) NOT BETWEEN 1 AND 64 THEN
        RAISE EXCEPTION
            'holdfast: the id of the write has % bytes, must be 1 to 64',
            coalesce(octet_length(id)::text, 'no')
            USING ERRCODE = '22023';
    ELSIF keep_ms IS NULL AND data IS NULL THEN
        RAISE EXCEPTION
            'holdfast: no value to write; keep_ms deletes the present one'
            USING ERRCODE = '22023';
    ELSIF keep_ms IS NOT NULL AND data IS NOT NULL THEN
        RAISE EXCEPTION
            'holdfast: keep_ms deletes a value and data writes one: not both'
            USING ERRCODE = '22023';
    ELSIF octet_length(data) > 262144 THEN
        RAISE EXCEPTION
            'holdfast: a value has at most 262144 bytes; this one has %',
            octet_length(data)
            USING ERRCODE = '22023';
    END IF;
END
$fn$;

-- Write or delete a value if it has the expected version. Versions never
-- repeat: each is greater than the last, and than the clock at each earlier
-- write. The id tells an earlier copy of the same write. A refusal by what is
-- committed neither waits nor writes. A value does not expire and has no
-- quarantine, so its commit waits for the disk whatever the session says.
CREATE OR REPLACE FUNCTION holdfast.value_put(lock_name bytea,
    expected bigint, id text, keep_ms bigint, data bytea,
    OUT verdict integer, OUT version bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '500ms'
AS $fn$
#variable_conflict use_column
DECLARE
    v holdfast.value;
    us bigint;
BEGIN
    PERFORM holdfast.check_value(id, keep_ms, data);
    SELECT * INTO v FROM holdfast.value p WHERE p.name = lock_name;
    value_put.version := CASE WHEN v.data IS NULL THEN 0 ELSE v.version END;
    IF expected <> value_put.version AND
        v.id IS DISTINCT FROM value_put.id THEN
        verdict := 0;
        RETURN;
    END IF;
    LOOP
        SELECT * INTO v FROM holdfast.value p WHERE p.name = lock_name
            FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO holdfast.value (name, version, id, data, until)
            VALUES (lock_name, 0, '', NULL, 0) ON CONFLICT DO NOTHING;
    END LOOP;
    us := holdfast.clock();
    IF v.until = 0 THEN -- a new row
        DELETE FROM holdfast.value d
            WHERE d.name IN (SELECT p.name FROM holdfast.value p
                WHERE p.ctid = ANY (holdfast.any_page('holdfast.value'))
                    AND p.data IS NULL AND p.until < us / 1000
                    AND p.name <> lock_name
                FOR UPDATE SKIP LOCKED);
    END IF;
    IF v.data IS NULL AND v.until < us / 1000 THEN
        v.version := 0;
        v.id := '';
    END IF;
    verdict := 1;
    value_put.version := v.version;
    IF v.id = value_put.id THEN
        RETURN;
    END IF;
    IF v.data IS NULL THEN
        value_put.version := 0;
    END IF;
    IF expected <> value_put.version THEN
        verdict := 0;
        RETURN;
    END IF;
    value_put.version := greatest(v.version + 1, us);
    IF value_put.version > 9007199254740991 THEN
        PERFORM holdfast.fail_used_up();
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'local', true);
    END IF;
    UPDATE holdfast.value p
        SET version = value_put.version, id = value_put.id,
            data = CASE WHEN keep_ms IS NULL THEN value_put.data END,
            until = us / 1000 + (value_put.version - us + 999) / 1000 + keep_ms
        WHERE p.name = lock_name;
END
$fn$;

-- ---- Sweeps by hand --------------------------------------------------------

-- Delete the idle ones among the next names; locked ones are passed over.
CREATE OR REPLACE FUNCTION holdfast.sweep(after bytea,
    most integer DEFAULT 100)
RETURNS bytea
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '500ms'
AS $fn$
DECLARE
    batch bytea[];
    idle bytea[];
    now bigint;
BEGIN
    PERFORM holdfast.check_call('x', 0);
    now := holdfast.clock() / 1000;
    SELECT coalesce(array_agg(b.name ORDER BY b.name), '{}') INTO batch
        FROM (
            (SELECT l.name FROM holdfast.lock l WHERE l.name > after
                ORDER BY l.name LIMIT most)
            UNION
            (SELECT o.name FROM holdfast.once o WHERE o.name > after
                ORDER BY o.name LIMIT most)
            UNION
            (SELECT v.name FROM holdfast.value v WHERE v.name > after
                ORDER BY v.name LIMIT most)
            ORDER BY 1 LIMIT most) AS b;
    SELECT array_agg(b.name) INTO idle
        FROM (SELECT l.name FROM holdfast.lock l
            WHERE l.name = ANY (batch) AND l.kept_until < now AND l.until < now
            FOR UPDATE SKIP LOCKED) AS b;
    PERFORM holdfast.drop_idle(idle, now);
    DELETE FROM holdfast.once o
        WHERE o.name IN (SELECT p.name FROM holdfast.once p
            WHERE p.name = ANY (batch) AND p.until < now
            FOR UPDATE SKIP LOCKED);
    DELETE FROM holdfast.value v
        WHERE v.name IN (SELECT p.name FROM holdfast.value p
            WHERE p.name = ANY (batch) AND p.data IS NULL AND p.until < now
            FOR UPDATE SKIP LOCKED);
    RETURN CASE WHEN cardinality(batch) < most THEN ''
        ELSE batch[cardinality(batch)] END;
END
$fn$;

-- Default privileges may have taken it away.
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA holdfast TO PUBLIC;

COMMIT;
