
-- ---- CONFIRM ---------------------------------------------------------------

-- If the name is the caller's, raise its counter to `fence`, T, and refresh its
-- lease. A T below the floor is refused, or a server that lost its data would
-- agree to a value that another owner's majority has. One above the bound is
-- refused, or one wrong clock could use up the name's fences.
CREATE OR REPLACE FUNCTION holdfast.confirm(lock_name bytea, caller bytea,
    ttl_ms bigint, fence bigint, marker text DEFAULT NULL,
    keep_ms bigint DEFAULT FENCE_KEEP_MS, holder boolean DEFAULT false,
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
    -- Rules: marker-not-compared, shortened-expiry, naive-raise.
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
                        WHERE m.field = 'v'
                            AND m.timeline = holdfast.timeline(m.xmin)
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
    PERFORM holdfast.check_verb(caller, ttl_ms, 0, keep_ms);
    -- Rule: marker-not-compared.
    IF NOT holdfast.is_marker(marker) THEN
        a.verdict := -1;
        RETURN a;
    END IF;
    s := holdfast.open(lock_name, keep_ms);
    most := least(greatest(s.counter, s.us) + AHEAD_MAX, FENCE_MAX);
    -- Rules: raise-below-floor, bound-is-unknown.
    can_raise := s.counter < fence AND fence BETWEEN s.floor AND most;
    own := holdfast.vote(s, caller);
    IF own IS NOT NULL THEN
        s := holdfast.stay(s, caller, ttl_ms);
        IF can_raise THEN
            -- Rule: reader-raise-leaves-c.
            s := holdfast.write_counter(s, fence, s.owner);
        ELSIF s.kept_until > 0 THEN
            s.kept_until := holdfast.keep(s, greatest(s.counter,
                CASE WHEN fence <= most THEN fence END));
        END IF;
        -- Rule: raise-below-floor.
        IF own < fence AND fence BETWEEN s.floor AND most THEN
            IF s.sharers > 0 THEN
                UPDATE holdfast.sharer h SET counter = fence
                    WHERE h.name = s.name AND h.owner = caller;
            END IF;
            own := fence;
        END IF;
        PERFORM holdfast.store(s);
        a := holdfast.reply(s, 1);
        -- Rule: naive-raise.
        a.counter := own;
        IF fence > most THEN
            a.bound := most;
        ELSIF own < fence THEN
            a.floor := s.floor;
        END IF;
        RETURN a;
    END IF;
    -- Rules: raise-takes-free, takeback-without-last.
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
