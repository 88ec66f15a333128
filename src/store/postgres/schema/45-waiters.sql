
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
        OR NOT pg_catalog.pg_try_advisory_xact_lock_shared(CHANNEL_LOCKS,
            pg_catalog.hashtext(channel))
$fn$;

-- Grant the name to the first waiters, as long as it admits them. `me`, the
-- caller of the verb, gets it for ttl_ms. Others are notified, and get it for
-- the lease of their place, since they will CONFIRM. A waiter without a
-- listener on its channel is removed; one without a channel polls, and gets the
-- name when it asks.
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
        -- Rules: queue-order-reversed, dead-waiter-not-skipped.
        SELECT * INTO w FROM holdfast.waiter q
            WHERE q.name = s.name AND q.until > s.now
            ORDER BY q.name, q.ticket, q.owner LIMIT 1;
        EXIT WHEN NOT FOUND;
        -- Rules: no-floor, floor-at-creation-only.
        v := greatest(s.counter + 1, s.floor);
        is_me := coalesce(w.owner = me, false);
        EXIT WHEN v > FENCE_MAX OR NOT holdfast.admits(s, w.mode)
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
