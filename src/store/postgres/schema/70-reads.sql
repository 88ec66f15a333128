
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
