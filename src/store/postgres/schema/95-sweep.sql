
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
