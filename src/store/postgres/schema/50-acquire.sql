
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
        CASE WHEN v > s.us + AHEAD_MAX THEN s.us ELSE 0 END, 0, 0,
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
    -- Rules: queue-order-reversed, dead-waiter-not-skipped.
    SELECT w.owner INTO first FROM holdfast.waiter w
        WHERE w.name = s.name AND w.until > s.now
        ORDER BY w.name, w.ticket, w.owner LIMIT 1;
    -- Rule: unfair-barge.
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

CREATE OR REPLACE FUNCTION holdfast.acquire(lock_name bytea, caller bytea,
    ttl_ms bigint, hint bigint DEFAULT 0, marker text DEFAULT NULL,
    keep_ms bigint DEFAULT FENCE_KEEP_MS, mode text DEFAULT 'x',
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
    -- Rules: no-floor, floor-at-creation-only, unfair-barge,
    -- marker-not-compared.
    IF mode = 'x' AND hint = 0 AND returned = 0 AND place_ms >= 0
        AND holdfast.is_usual(caller, ttl_ms, keep_ms) THEN
        PERFORM FROM holdfast.lock l
            WHERE l.name = lock_name AND l.owner IS NULL
            FOR UPDATE;
        IF FOUND THEN
            UPDATE holdfast.lock l
                SET owner = caller, until = n.us / 1000 + ttl_ms, terms = -1,
                    last = caller,
                    counter = greatest(l.counter + 1, n.us - n.us % FLOOR_STEP),
                    kept_until = n.us / 1000 + keep_ms
                FROM (SELECT holdfast.clock() AS us) AS n
                WHERE l.name = lock_name AND l.counter < n.us
                    AND l.kept_until >= n.us / 1000
                    AND NOT EXISTS (SELECT FROM holdfast.waiter w
                        WHERE w.name = lock_name)
                    AND EXISTS (SELECT FROM holdfast.node m
                        WHERE m.field = 'v'
                            AND m.timeline = holdfast.timeline(m.xmin)
                            AND (m.content = marker OR (marker IS NULL
                                AND holdfast.is_whole())))
                RETURNING 1, l.counter, ttl_ms, caller, 0, 0, 0, 0, 0, 0, 0, 0
                INTO a;
            IF FOUND THEN
                RETURN a;
            END IF;
        END IF;
    END IF;
    PERFORM holdfast.check_verb(caller, ttl_ms, place_ms, keep_ms);
    IF mode !~ '^(x|s[0-9]{1,5})$' THEN
        RAISE EXCEPTION 'holdfast: mode %, must be x, s0 or s and a number',
            mode
            USING ERRCODE = '22023';
    END IF;
    -- Rule: marker-not-compared.
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
    -- Rule: hint-refused.
    IF hint > greatest(s.counter, s.us) + AHEAD_MAX
        OR hint > FENCE_MAX THEN
        hint := 0; -- from a server whose clock is far ahead
    END IF;
    -- Rules: no-floor, floor-at-creation-only.
    next := greatest(s.counter + 1, hint, s.floor);
    IF next > FENCE_MAX THEN
        PERFORM holdfast.fail_used_up();
    END IF;
    own := holdfast.vote(s, caller);
    -- Rule: yield-without-counter.
    IF returned > 0 AND own = returned THEN
        s := holdfast.part(s, caller);
        own := NULL;
    END IF;
    IF own IS NOT NULL THEN
        -- Rule: no-refresh-on-retry.
        s := holdfast.stay(s, caller, ttl_ms);
        IF own = 0 THEN -- its counter has expired
            s := holdfast.write_counter(s, next, caller);
            own := next;
        END IF;
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
        -- Rules: no-floor, floor-at-creation-only.
        next := greatest(s.counter + 1, hint, s.floor);
        IF next <= FENCE_MAX THEN
            s := holdfast.take(s, caller, mode, ttl_ms, overtake, next);
        END IF;
        IF s.is_taken THEN
            RETURN holdfast.yours(s, next, caller, ticket);
        END IF;
        PERFORM holdfast.store(s);
        a := holdfast.reply(s, 0);
        a.node_us := s.us;
    END IF;
    -- A transaction that grants nothing loses nothing but time if the server
    -- stops before it is on disk. Others' writes in the same transaction might
    -- not. (A function of its own for this took a sixth of a release.)
    IF alone AND s.grants = 0 THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    RETURN a;
END
$fn$;
