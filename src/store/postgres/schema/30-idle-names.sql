
-- ---- Idle names ------------------------------------------------------------

-- A name is idle when its counter has expired and it has no holder and no live
-- waiter. Each new row deletes the idle rows on some page of its table, a page
-- having many rows: so few idle rows are left, without a timer or a position.
CREATE OR REPLACE FUNCTION holdfast.any_page(of_table regclass)
RETURNS tid[]
LANGUAGE plpgsql STABLE AS $fn$ -- if VOLATILE, there is no Tid Scan
DECLARE
    pages bigint := pg_relation_size(of_table)
        / current_setting('block_size')::bigint;
    page bigint := trunc(random() * pages);
BEGIN
    RETURN ARRAY(SELECT ('(' || page || ',' || i || ')')::tid
        FROM generate_series(1, 226) AS i);
END
$fn$;

-- The caller has locked these names. In a statement of its own: it sees
-- all earlier commits.
CREATE OR REPLACE FUNCTION holdfast.drop_idle(idle bytea[], now bigint)
RETURNS void
LANGUAGE plpgsql AS $fn$
BEGIN
    DELETE FROM holdfast.lock l
        WHERE l.name = ANY (idle) AND NOT EXISTS (SELECT FROM holdfast.waiter w
            WHERE w.name = l.name AND w.until > now);
    DELETE FROM holdfast.waiter w
        WHERE w.name = ANY (idle) AND w.until <= now;
    DELETE FROM holdfast.sharer h
        WHERE h.name = ANY (idle) AND h.until <= now;
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.sweep_page(except_name bytea, now bigint)
RETURNS void
LANGUAGE plpgsql AS $fn$
DECLARE
    idle bytea[];
BEGIN
    SELECT array_agg(b.name) INTO idle
        FROM (SELECT l.name FROM holdfast.lock l
            WHERE l.ctid = ANY (holdfast.any_page('holdfast.lock'))
                AND l.kept_until < now AND l.until < now
                AND l.name <> except_name
            FOR UPDATE SKIP LOCKED) AS b;
    IF idle IS NOT NULL THEN
        PERFORM holdfast.drop_idle(idle, now);
    END IF;
END
$fn$;
