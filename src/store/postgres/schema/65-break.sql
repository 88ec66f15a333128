
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
    PERFORM holdfast.check_verb(caller, max_ttl_ms, 0, keep_ms);
    -- Rule: marker-not-compared.
    IF NOT holdfast.is_marker(marker) THEN
        a.verdict := -1;
        RETURN a;
    END IF;
    s := holdfast.open(lock_name, keep_ms);
    a := holdfast.reply(s, 1);
    next := greatest(s.counter + 1, s.floor);
    IF next > FENCE_MAX THEN
        PERFORM holdfast.fail_used_up();
    END IF;
    a.counter := next;
    IF s.owner = caller THEN
        -- Rule: given-up-break-frees.
        IF back <> '' THEN
            s.owner := back;
            PERFORM holdfast.store(s);
        END IF;
        RETURN a;
    END IF;
    IF back <> '' THEN
        RETURN a;
    END IF;
    -- Entered before the clock was set back: no live waiter has such a place.
    DELETE FROM holdfast.waiter w
        WHERE w.name = s.name AND w.until > s.now + max_ttl_ms;
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
