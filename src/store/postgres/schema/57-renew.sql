
-- ---- RENEW -----------------------------------------------------------------

-- CONFIRMs of many names that are held, with one commit. The rows are those
-- that CONFIRM would renew by its first statement alone. What needs another
-- rule, or has its row locked by another session, is not among them, and is to
-- be sent as CONFIRM: so a batch waits for no row.
CREATE OR REPLACE FUNCTION holdfast.renew(names bytea[], callers bytea[],
    ttls_ms bigint[], fences bigint[], marker text DEFAULT NULL,
    keep_ms bigint DEFAULT FENCE_KEEP_MS)
RETURNS TABLE (nth integer, answer holdfast.answer)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '500ms'
AS $fn$
BEGIN
    -- Rule: marker-not-compared.
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
            -- Rule: shortened-expiry.
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
