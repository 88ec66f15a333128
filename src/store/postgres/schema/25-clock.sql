

-- ---- The clock, and the marker ---------------------------------------------

-- Microseconds since 1970. Tests replace it.
CREATE OR REPLACE FUNCTION holdfast.clock() RETURNS bigint
LANGUAGE sql VOLATILE AS $fn$
    SELECT (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())
        OPERATOR(pg_catalog.*) 1000000.0)::bigint
$fn$;

CREATE OR REPLACE FUNCTION holdfast.schema_version() RETURNS integer
LANGUAGE sql STABLE AS $fn$
    SELECT v.version FROM holdfast.version v
$fn$;

-- A promotion begins a new time-line, and a pooler may change servers under an
-- open connection. Functions that grant compare it.
CREATE OR REPLACE FUNCTION holdfast.timeline() RETURNS text
LANGUAGE sql VOLATILE AS $fn$
    SELECT pg_catalog.substr(pg_catalog.pg_walfile_name(
        pg_catalog.pg_current_wal_insert_lsn()), 1, 8)
$fn$;

-- The same of a marker, and the transaction that wrote its row. The rows of a
-- dump that are restored into these tables have another one: so a marker that
-- comes back with them does not count. VACUUM keeps it. SET LOGGED, for one,
-- writes each row anew, and is taken for a restore.
CREATE OR REPLACE FUNCTION holdfast.timeline(writer pg_catalog.xid) RETURNS text
LANGUAGE sql VOLATILE AS $fn$
    SELECT pg_catalog.concat(holdfast.timeline(), '-', writer)
$fn$;

-- Does the node have all locks, as far as is known? Not in quarantine.
CREATE OR REPLACE FUNCTION holdfast.is_whole() RETURNS boolean
LANGUAGE plpgsql STABLE AS $fn$
BEGIN
    RETURN EXISTS (SELECT FROM holdfast.node n WHERE n.field = 'whole');
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.is_marker(marker text) RETURNS boolean
LANGUAGE plpgsql AS $fn$
BEGIN
    PERFORM FROM holdfast.node n
        WHERE n.field = 'v' AND n.timeline = holdfast.timeline(n.xmin)
            AND (n.content = marker OR (marker IS NULL
                AND holdfast.is_whole()));
    RETURN FOUND;
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.check_call(caller bytea, span_ms bigint)
RETURNS void
LANGUAGE plpgsql AS $fn$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION
            'holdfast: the transaction is %, must be READ COMMITTED',
            upper(current_setting('transaction_isolation'))
            USING ERRCODE = '25001';
    ELSIF caller IS NULL OR octet_length(caller) NOT BETWEEN 1 AND 512 THEN
        RAISE EXCEPTION 'holdfast: the owner has % bytes, must be 1 to 512',
            coalesce(octet_length(caller)::text, 'no')
            USING ERRCODE = '22023';
    ELSIF span_ms IS NULL OR span_ms NOT BETWEEN 0 AND SPAN_MS_MAX THEN
        RAISE EXCEPTION 'holdfast: a span of % ms, must be 0 to %',
            coalesce(span_ms::text, 'no'), SPAN_MS_MAX
            USING ERRCODE = '22023';
    END IF;
END
$fn$;

-- The same as a question. It is one expression, which its callers contain.
CREATE OR REPLACE FUNCTION holdfast.is_usual(caller bytea, span_ms bigint,
    keep_ms bigint)
RETURNS boolean
LANGUAGE sql STABLE AS $fn$
    SELECT pg_catalog.current_setting('transaction_isolation')
            = 'read committed'
        AND pg_catalog.octet_length(caller) BETWEEN 1 AND 512
        AND span_ms BETWEEN 0 AND SPAN_MS_MAX
        AND keep_ms BETWEEN FENCE_KEEP_MS_MIN AND SPAN_MS_MAX
$fn$;

-- The same of a verb that writes a counter: it must not expire before the clock
-- floor has passed it, or its fence comes again.
CREATE OR REPLACE FUNCTION holdfast.check_verb(caller bytea, span_ms bigint,
    place_ms bigint, keep_ms bigint)
RETURNS void
LANGUAGE plpgsql AS $fn$
BEGIN
    IF holdfast.is_usual(caller, span_ms, keep_ms)
        AND place_ms BETWEEN 0 AND SPAN_MS_MAX THEN
        RETURN;
    END IF;
    PERFORM holdfast.check_call(caller, span_ms);
    PERFORM holdfast.check_call(caller, place_ms);
    RAISE EXCEPTION 'holdfast: fence_keep is % ms, must be % to %',
        coalesce(keep_ms::text, 'no'), FENCE_KEEP_MS_MIN, SPAN_MS_MAX
        USING ERRCODE = '22023';
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.fail_used_up() RETURNS void
LANGUAGE plpgsql AS $fn$
BEGIN
    RAISE EXCEPTION 'holdfast: fences of this name are used up'
        USING ERRCODE = 'HF002';
END
$fn$;
