
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
-- has the value, and the time-line and the transaction in which its row was
-- written: "00000001-735".
CREATE TABLE IF NOT EXISTS holdfast.node (
    field text COLLATE "C" PRIMARY KEY,
    content text NOT NULL,
    timeline text
) WITH (fillfactor = 50);

-- A marker of an older installation has the time-line alone. Both statements
-- are of one transaction.
DO $do$
BEGIN
    UPDATE holdfast.node n SET timeline = n.timeline
        WHERE n.field = 'v' AND pg_catalog.length(n.timeline) = 8;
    UPDATE holdfast.node n
        SET timeline = pg_catalog.concat(n.timeline, '-', n.xmin)
        WHERE n.field = 'v' AND pg_catalog.length(n.timeline) = 8;
END
$do$;

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
