-- SPDX-License-Identifier: Apache-2.0
-- PostgreSQL 12 and later: refuse the writes of a lock's former holders.
--
--   holdfast guard postgres | psql -v ON_ERROR_STOP=1 DATABASE
--   GRANT USAGE ON SCHEMA holdfast TO app;
--
-- A writer presents its fence in the transaction that writes:
--
--   BEGIN;
--   SELECT holdfast.fence('account-7', 1795394564521984);
--   UPDATE accounts SET balance = 50 WHERE id = 7;
--   COMMIT;
--
-- The guard keeps one row per lock: the largest fence that was presented. A
-- lower one is an error (SQLSTATE HF001), which aborts the transaction. The row
-- stays locked until the transaction ends: shared between equal fences, else
-- exclusively. So no other fence can pass between a check and its write. A row
-- that is shared lets more sharers pass a waiting UPDATE: they take turns by an
-- advisory lock, so that old holders cannot keep a newer one waiting for ever.
-- Running this file again replaces the functions and keeps the rows.
BEGIN;
SET LOCAL client_min_messages = warning;
SET LOCAL lock_timeout = '10s';

-- Functions that run with their owner's rights must not lie in another role's
-- schema, which could replace them.
DO $do$
DECLARE
    other text;
BEGIN
    IF current_setting('server_version_num')::int < 120000 THEN
        RAISE EXCEPTION 'holdfast: the guard needs PostgreSQL 12 or later';
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
    SELECT pg_catalog.quote_ident(o.name) INTO other
        FROM (SELECT proname, pronamespace, proowner
                  FROM pg_catalog.pg_proc
              UNION ALL
              SELECT relname, relnamespace, relowner
                  FROM pg_catalog.pg_class) o (name, space, owner)
        JOIN pg_catalog.pg_namespace n ON n.oid = o.space
        WHERE n.nspname = 'holdfast' AND o.owner <> n.nspowner
        LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'holdfast: % in schema holdfast belongs to another role'
            ' than the schema', other;
    END IF;
END
$do$;

CREATE SCHEMA IF NOT EXISTS holdfast;

-- fillfactor: a new fence is written beside the old one, not into the index.
CREATE TABLE IF NOT EXISTS holdfast.guard (
    name text COLLATE "C" PRIMARY KEY,
    fence bigint NOT NULL
) WITH (fillfactor = 50);

-- Compare with the guard's row and lock it. The branches only choose a lock:
-- each write repeats its comparison on the row that it has locked.
--
-- The turn is an advisory lock of the name, which is always taken before the
-- row: shared by callers that share the row, else alone. Its waiters are served
-- in order. The server has room for some thousand, so a transaction takes those
-- of its first 16 names. For further ones it takes the turn only to wait for a
-- row that it raises, and none for a row that it has locked: the one whose turn
-- it is may be waiting for that row. The key is of 64 bits; those of the locks'
-- schema are of two numbers, and never equal.
CREATE OR REPLACE FUNCTION holdfast.guard_check(lock_name text, given bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $check$
DECLARE
    seen bigint;
    turn bigint := hashtextextended(lock_name COLLATE "C", 1751543399);
    turns text[] := string_to_array(coalesce(
        current_setting('holdfast.turns', true), ''), ' ');
    in_turn boolean;
BEGIN
    IF lock_name IS NULL OR octet_length(lock_name) NOT BETWEEN 1 AND 1028 THEN
        RAISE EXCEPTION 'holdfast: the lock''s name has % bytes, must be 1 to'
            ' 1028', coalesce(octet_length(lock_name)::text, 'no')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF given IS NULL OR given < 1 THEN
        RAISE EXCEPTION 'holdfast: % is no fence of %: must be 1 to'
            ' 9223372036854775807 (0: the lock is not held)',
            coalesce(given::text, 'NULL'), quote_literal(lock_name)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    in_turn := turn::text = ANY (turns);
    IF NOT in_turn AND cardinality(turns) < 16 THEN
        in_turn := true;
        PERFORM set_config('holdfast.turns',
            array_to_string(turns || turn::text, ' '), true);
    END IF;
    LOOP
        SELECT g.fence INTO seen
            FROM holdfast.guard g WHERE g.name = lock_name;
        IF seen > given THEN
            RAISE EXCEPTION 'holdfast: fence % of % is stale: % was presented',
                given, quote_literal(lock_name), seen
                USING ERRCODE = 'HF001', HINT = 'Another holder has written'
                ' since: do not repeat this write.';
        END IF;
        IF in_turn AND seen = given THEN
            PERFORM pg_advisory_xact_lock_shared(turn);
        ELSIF in_turn THEN
            PERFORM pg_advisory_xact_lock(turn);
        END IF;
        IF seen IS NULL THEN
            INSERT INTO holdfast.guard (name, fence)
                VALUES (lock_name, given) ON CONFLICT DO NOTHING;
            EXIT WHEN FOUND;
        ELSIF seen = given THEN
            SELECT g.fence INTO seen
                FROM holdfast.guard g WHERE g.name = lock_name FOR SHARE;
            EXIT WHEN seen = given;
        ELSE
            IF NOT in_turn THEN
                PERFORM 1 FROM holdfast.guard g
                    WHERE g.name = lock_name FOR NO KEY UPDATE SKIP LOCKED;
                IF NOT FOUND THEN
                    PERFORM pg_advisory_xact_lock(turn);
                END IF;
            END IF;
            UPDATE holdfast.guard g SET fence = given
                WHERE g.name = lock_name AND g.fence < given;
            EXIT WHEN FOUND;
        END IF;
    END LOOP;
END
$check$;

-- Present a fence. Returns true, or raises an error. Names presented in this
-- transaction are kept in a setting that ends with it, or with a rollback to a
-- savepoint before.
CREATE OR REPLACE FUNCTION holdfast.fence(lock_name text, given bigint)
RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $fence$
DECLARE
    entry text := ' ' || encode(convert_to(lock_name, 'UTF8'), 'hex') || '=';
BEGIN
    PERFORM holdfast.guard_check(lock_name, given);
    PERFORM set_config('holdfast.presented', regexp_replace(
        coalesce(current_setting('holdfast.presented', true), ''),
        entry || '[0-9]+', '') || entry || given, true);
    RETURN true;
END
$fence$;

-- The fence of a name that was presented in this transaction, or NULL: by the
-- row that was written last, or by holdfast.fence().
CREATE OR REPLACE FUNCTION holdfast.guard_presented(lock_name text)
RETURNS bigint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $presented$
    SELECT substring(
        coalesce(current_setting('holdfast.presented_row', true), '')
            || coalesce(current_setting('holdfast.presented', true), ''),
        ' ' || encode(convert_to(lock_name, 'UTF8'), 'hex') || '=([0-9]+)'
    )::bigint
$presented$;

-- The trigger of a table with a fence column. Arguments: that column; then by
-- turns a text and a column, which make the lock's name:
--
--   CREATE TRIGGER holdfast_guard BEFORE INSERT OR UPDATE OR DELETE ON accounts
--       FOR EACH ROW EXECUTE FUNCTION
--       holdfast.guard_row('fence', 'account-', 'id');
--
-- The column hands the fence over, and is stored negated. So a fence that was
-- read from a row, or left as it was, is never taken for a presented one.
--
-- The settings are those by which a value becomes text: the name of a row's
-- lock must be the same in all sessions.
CREATE OR REPLACE FUNCTION holdfast.guard_row()
RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET datestyle = 'ISO, YMD'
SET intervalstyle = 'postgres'
SET extra_float_digits = 1
SET bytea_output = 'hex'
SET lc_monetary = 'C'
SET quote_all_identifiers = off
AS $row$
DECLARE
    name_of text := 'SELECT ''''';
    names text[] := '{}';
    row_name text;
    given bigint;
    presented bigint;
BEGIN
    IF TG_WHEN <> 'BEFORE' OR TG_LEVEL <> 'ROW' OR TG_NARGS < 2 THEN
        RAISE EXCEPTION 'holdfast: the guard of % must be a BEFORE trigger FOR'
            ' EACH ROW with a fence column and a name', TG_RELID::regclass
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR i IN 1 .. TG_NARGS - 1 LOOP
        name_of := name_of || ' || ' || CASE WHEN i % 2 = 1
            THEN quote_literal(TG_ARGV[i])
            ELSE format('($1).%I::text', TG_ARGV[i]) END;
    END LOOP;
    IF TG_OP <> 'DELETE' THEN
        EXECUTE name_of INTO row_name USING NEW;
        EXECUTE format('SELECT ($1).%I::bigint', TG_ARGV[0])
            INTO given USING NEW;
        names := ARRAY[row_name];
    END IF;
    IF TG_OP <> 'INSERT' THEN
        EXECUTE name_of INTO row_name USING OLD;
        IF names <> ARRAY[row_name] THEN
            names := names || row_name;
        END IF;
    END IF;
    FOR i IN 1 .. cardinality(names) LOOP
        presented := CASE WHEN i = 1 AND given >= 0 THEN given
            ELSE holdfast.guard_presented(names[i]) END;
        IF presented IS NULL AND names[i] IS NOT NULL THEN
            RAISE EXCEPTION 'holdfast: % of % presents no fence of %',
                TG_OP, TG_RELID::regclass, quote_literal(names[i])
                USING ERRCODE = 'HF002', HINT = CASE
                    WHEN TG_OP = 'DELETE' OR i > 1 THEN ''
                    ELSE format('Set the column %I, or ', TG_ARGV[0])
                END || 'SELECT holdfast.fence(NAME, FENCE) in the same'
                ' transaction.';
        END IF;
        PERFORM holdfast.guard_check(names[i], presented);
        IF TG_OP <> 'DELETE' AND i = 1 THEN
            given := presented;
        END IF;
    END LOOP;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    -- For the UPDATE of an upsert, and for a row that changes its partition.
    PERFORM set_config('holdfast.presented_row', ' '
        || encode(convert_to(names[1], 'UTF8'), 'hex') || '=' || given, true);
    RETURN jsonb_populate_record(NEW, jsonb_build_object(TG_ARGV[0], -given));
END
$row$;

-- Of this text: holdfast guard postgres --install reads it (cli/cmd_guard.c).
CREATE OR REPLACE FUNCTION holdfast.guard_version()
RETURNS int
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS 'SELECT 3';

-- Default privileges may have taken these from PUBLIC. What was granted to
-- chosen roles since then is left as it is.
DO $do$
DECLARE
    closed pg_catalog.regprocedure;
BEGIN
    FOR closed IN SELECT p.oid
        FROM pg_catalog.pg_proc p
        JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname = 'holdfast'
            AND (p.proname, pg_catalog.oidvectortypes(p.proargtypes)) IN (
                ('guard_check', 'text, bigint'), ('fence', 'text, bigint'),
                ('guard_presented', 'text'), ('guard_row', ''),
                ('guard_version', ''))
            AND p.proacl IS NOT NULL
            AND NOT EXISTS (SELECT FROM pg_catalog.aclexplode(p.proacl) a
                WHERE a.grantee <> p.proowner)
    LOOP
        EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC',
            closed);
    END LOOP;
END
$do$;
COMMIT;
