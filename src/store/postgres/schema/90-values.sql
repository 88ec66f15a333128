
-- ---- Values ----------------------------------------------------------------

CREATE OR REPLACE FUNCTION holdfast.value_get(lock_name bytea,
    OUT verdict integer, OUT version bigint, OUT data bytea, OUT id text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $fn$
BEGIN
    verdict := 1;
    SELECT CASE WHEN v.data IS NULL THEN 0 ELSE v.version END, v.data, v.id
        INTO version, data, id FROM holdfast.value v
        WHERE v.name = lock_name
            AND (v.data IS NOT NULL OR v.until >= holdfast.clock() / 1000);
    version := coalesce(version, 0);
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.check_value(id text, keep_ms bigint,
    data bytea)
RETURNS void
LANGUAGE plpgsql AS $fn$
BEGIN
    PERFORM holdfast.check_call('x', coalesce(keep_ms, 0));
    IF id IS NULL OR octet_length(id) NOT BETWEEN 1 AND 64 THEN
        RAISE EXCEPTION
            'holdfast: the id of the write has % bytes, must be 1 to 64',
            coalesce(octet_length(id)::text, 'no')
            USING ERRCODE = '22023';
    ELSIF keep_ms IS NULL AND data IS NULL THEN
        RAISE EXCEPTION
            'holdfast: no value to write; keep_ms deletes the present one'
            USING ERRCODE = '22023';
    ELSIF keep_ms IS NOT NULL AND data IS NOT NULL THEN
        RAISE EXCEPTION
            'holdfast: keep_ms deletes a value and data writes one: not both'
            USING ERRCODE = '22023';
    ELSIF octet_length(data) > VALUE_BYTES_MAX THEN
        RAISE EXCEPTION
            'holdfast: a value has at most % bytes; this one has %',
            VALUE_BYTES_MAX, octet_length(data)
            USING ERRCODE = '22023';
    END IF;
END
$fn$;

-- Write or delete a value if it has the expected version. Versions never
-- repeat: each is greater than the last, and than the clock at each earlier
-- write. The id tells an earlier copy of the same write. A refusal by a
-- committed version neither waits nor writes. A value does not expire and has
-- no quarantine, so its commit waits for the disk whatever the session says.
CREATE OR REPLACE FUNCTION holdfast.value_put(lock_name bytea,
    expected bigint, id text, keep_ms bigint, data bytea,
    OUT verdict integer, OUT version bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '500ms'
AS $fn$
#variable_conflict use_column
DECLARE
    v holdfast.value;
    us bigint;
BEGIN
    PERFORM holdfast.check_value(id, keep_ms, data);
    SELECT * INTO v FROM holdfast.value p WHERE p.name = lock_name;
    value_put.version := CASE WHEN v.data IS NULL THEN 0 ELSE v.version END;
    IF expected <> value_put.version AND
        v.id IS DISTINCT FROM value_put.id THEN
        verdict := 0;
        RETURN;
    END IF;
    LOOP
        SELECT * INTO v FROM holdfast.value p WHERE p.name = lock_name
            FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO holdfast.value (name, version, id, data, until)
            VALUES (lock_name, 0, '', NULL, 0) ON CONFLICT DO NOTHING;
    END LOOP;
    us := holdfast.clock();
    IF v.until = 0 THEN -- a new row
        DELETE FROM holdfast.value d
            WHERE d.name IN (SELECT p.name FROM holdfast.value p
                WHERE p.ctid = ANY (holdfast.any_page('holdfast.value'))
                    AND p.data IS NULL AND p.until < us / 1000
                    AND p.name <> lock_name
                FOR UPDATE SKIP LOCKED);
    END IF;
    IF v.data IS NULL AND v.until < us / 1000 THEN
        v.version := 0;
        v.id := '';
    END IF;
    verdict := 1;
    value_put.version := v.version;
    IF v.id = value_put.id THEN
        RETURN;
    END IF;
    IF v.data IS NULL THEN
        value_put.version := 0;
    END IF;
    IF expected <> value_put.version THEN
        verdict := 0;
        RETURN;
    END IF;
    value_put.version := greatest(v.version + 1, us);
    IF value_put.version > FENCE_MAX THEN
        PERFORM holdfast.fail_used_up();
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'local', true);
    END IF;
    UPDATE holdfast.value p
        SET version = value_put.version, id = value_put.id,
            data = CASE WHEN keep_ms IS NULL THEN value_put.data END,
            until = us / 1000 + (value_put.version - us + 999) / 1000 + keep_ms
        WHERE p.name = lock_name;
END
$fn$;
