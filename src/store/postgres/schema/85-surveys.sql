
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
    PERFORM holdfast.check_verb('x', max_ttl_ms, 0, keep_ms);
    IF marker <> '' THEN
        LOCK TABLE holdfast.lock, holdfast.waiter IN SHARE ROW EXCLUSIVE MODE;
    END IF;
    us := holdfast.clock();
    SELECT count(*) INTO n FROM holdfast.lock l
        WHERE l.counter > us + AHEAD_MAX AND l.kept_until >= us / 1000;
    IF marker = '' THEN
        RETURN n;
    END IF;
    IF NOT holdfast.is_marker(marker) OR
        EXISTS (SELECT FROM holdfast.node WHERE field = 'whole') THEN
        RETURN -1;
    END IF;
    UPDATE holdfast.lock l
        SET counter = us + AHEAD_MAX, last = NULL,
            kept_until = us / 1000 + AHEAD_MAX / 1000 + 1 + keep_ms
        WHERE l.counter > us + AHEAD_MAX AND l.kept_until >= us / 1000;
    UPDATE holdfast.lock l
        SET owner = NULL, terms = -1, until = 0
        WHERE l.owner IS NOT NULL AND l.until > us / 1000 + max_ttl_ms
            AND substr(l.owner, 1, 6) <> convert_to('ended:', 'UTF8');
    DELETE FROM holdfast.waiter;
    RETURN n;
END
$fn$;
