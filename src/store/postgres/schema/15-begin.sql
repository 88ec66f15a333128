BEGIN;
SET LOCAL client_min_messages = warning;
SET LOCAL lock_timeout = '10s';
SELECT pg_catalog.pg_advisory_xact_lock(INSTALL_LOCK, 0); -- one at a time
-- Verbs are queued after a statement that waits for a table, and fail after
-- 500 ms.
SET LOCAL lock_timeout = '400ms';

-- Functions that run with their owner's rights must not lie in another role's
-- schema, which could replace them.
DO $do$
DECLARE
    other text;
    present integer := 0;
BEGIN
    IF pg_catalog.current_setting('server_version_num')::int < SERVER_MIN THEN
        RAISE EXCEPTION 'holdfast: locks need PostgreSQL 12 or later';
    END IF;
    SELECT pg_catalog.quote_ident(r.rolname) INTO other
        FROM pg_catalog.pg_namespace n
        JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner
        WHERE n.nspname = 'holdfast' AND r.rolname <> current_user;
    IF FOUND THEN
        RAISE EXCEPTION 'holdfast: schema holdfast belongs to %, not to %',
            other, current_user
            USING HINT = 'Install as the owner of the schema.';
    END IF;
    IF pg_catalog.to_regclass('holdfast.version') IS NOT NULL THEN
        SELECT v.version INTO present FROM holdfast.version v;
    END IF;
    IF present > 2 THEN
        RAISE EXCEPTION 'holdfast: schema holdfast has version %, newer than 2',
            present
            USING ERRCODE = 'HF003', HINT = 'Use a newer holdfast.';
    END IF;
    IF present = 1 THEN -- it returned no id, and a result cannot be replaced
        DROP FUNCTION IF EXISTS holdfast.value_get(bytea);
    END IF;
END
$do$;

CREATE SCHEMA IF NOT EXISTS holdfast;
