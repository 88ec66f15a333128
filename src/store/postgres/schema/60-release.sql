
-- ---- RELEASE ---------------------------------------------------------------

-- Free a name that is the caller's, leave its queue, and grant the name to the
-- first waiter; align the counter of a free name to `fence`. The marker is
-- compared only before a grant, and before "not yours", which a server that
-- lost its data says of each owner; all else is done. The marker '' grants
-- nothing, and is not compared. A fence out of bounds is ignored.
CREATE OR REPLACE FUNCTION holdfast.release(lock_name bytea, caller bytea,
    fence bigint DEFAULT 0, reserve_ms bigint DEFAULT 0,
    keep_ms bigint DEFAULT FENCE_KEEP_MS, marker text DEFAULT NULL,
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
                    PERFORM set_config('synchronous_commit', 'off', true);
                END IF;
                RETURN a;
            END IF;
        END IF;
    END IF;
    PERFORM holdfast.check_verb(caller, reserve_ms, 0, keep_ms);
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
        IF fence > s.counter AND fence <= FENCE_MAX
            AND fence <= greatest(s.counter, s.us) + AHEAD_MAX THEN
            s := holdfast.write_counter(s, fence, NULL);
        ELSIF is_last THEN
            s.last := NULL; -- or a late CONFIRM would acquire it again
        END IF;
    END IF;
    a := holdfast.reply(s, CASE WHEN was_mine THEN 1 ELSE 0 END);
    IF NOT was_mine AND marker IS DISTINCT FROM ''
        AND NOT holdfast.is_marker(marker) THEN
        a.verdict := -1;
    END IF;
    -- Rule: marker-not-compared.
    IF has_queue AND (s.owner IS NULL OR s.sharers > 0)
        AND holdfast.is_marker(marker) THEN
        s := holdfast.serve(s, NULL, 0, 0);
    END IF;
    PERFORM holdfast.store(s);
    IF alone AND s.grants = 0 AND reserve_ms = 0 THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    RETURN a;
END
$fn$;
