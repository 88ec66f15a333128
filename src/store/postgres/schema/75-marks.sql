
-- ---- Marks of --once -------------------------------------------------------

-- The mark with the greater fence wins. Of equal fences a tombstone (owner '')
-- wins, else the mark that the node has: its end never moves. So a late or
-- repeated write changes nothing.
CREATE OR REPLACE FUNCTION holdfast.mark(lock_name bytea, marker text,
    fence bigint, left_ms bigint, owner bytea)
RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '500ms'
AS $fn$
#variable_conflict use_column
DECLARE
    o holdfast.once;
    a holdfast.answer;
    now bigint;
BEGIN
    PERFORM holdfast.check_call('x', mark.left_ms);
    IF NOT holdfast.is_marker(marker) THEN
        a.verdict := -1;
        RETURN a;
    END IF;
    LOOP
        SELECT * INTO o FROM holdfast.once m WHERE m.name = lock_name
            FOR UPDATE;
        EXIT WHEN FOUND OR mark.fence = 0;
        INSERT INTO holdfast.once (name, fence, owner, until)
            VALUES (lock_name, 0, '', -1) ON CONFLICT DO NOTHING;
    END LOOP;
    now := holdfast.clock() / 1000;
    IF o.until = -1 THEN -- a new row
        DELETE FROM holdfast.once m
            WHERE m.name IN (SELECT p.name FROM holdfast.once p
                WHERE p.ctid = ANY (holdfast.any_page('holdfast.once'))
                    AND p.until < now AND p.name <> lock_name
                FOR UPDATE SKIP LOCKED);
    END IF;
    IF o.until IS NULL OR o.until < now THEN
        o.fence := 0;
        o.owner := '';
        o.until := now - 2;
    END IF;
    -- Rules: later-write-wins, tombstone-replaced.
    IF mark.fence > o.fence OR
        (mark.fence = o.fence AND mark.owner = '' AND o.owner <> '') THEN
        o.fence := mark.fence;
        o.owner := mark.owner;
        o.until := now + mark.left_ms;
        UPDATE holdfast.once m
            SET fence = o.fence, owner = o.owner, until = o.until
            WHERE m.name = lock_name;
    END IF;
    RETURN (1, o.fence, o.until - now, o.owner, 0, 0, 0, 0, 0, 0, 0,
        0)::holdfast.answer;
END
$fn$;
