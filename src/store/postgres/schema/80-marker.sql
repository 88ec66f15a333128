
-- ---- The marker, and this server -------------------------------------------

-- Write the marker if it has the expected value ('': none, '*': any). While the
-- value stays the same, hosts are only added and "whole" is only set; a new one
-- begins without both. Of more than 64 hosts a random one is removed.
CREATE OR REPLACE FUNCTION holdfast.marker(expected text, fresh text,
    whole boolean, host text, seen_ms bigint, VARIADIC facts text[])
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '500ms'
AS $fn$
DECLARE
    value text;
BEGIN
    PERFORM holdfast.check_call('x', 0);
    LOCK TABLE holdfast.node IN SHARE ROW EXCLUSIVE MODE;
    SELECT n.content INTO value FROM holdfast.node n WHERE n.field = 'v';
    value := coalesce(value, '');
    -- Rule: entry-not-compared.
    IF expected <> '*' AND value <> expected THEN
        RETURN 0;
    END IF;
    -- Rule: entry-survives-restart.
    IF value <> fresh THEN
        DELETE FROM holdfast.node;
        INSERT INTO holdfast.node (field, content) VALUES ('v', fresh);
        UPDATE holdfast.node n SET timeline = holdfast.timeline(n.xmin)
            WHERE n.field = 'v';
    END IF;
    FOR i IN 1 .. coalesce(array_length(facts, 1), 0) - 1 BY 2 LOOP
        INSERT INTO holdfast.node (field, content)
            VALUES (facts[i], facts[i + 1])
            ON CONFLICT (field) DO UPDATE SET content = excluded.content;
    END LOOP;
    IF whole THEN
        INSERT INTO holdfast.node (field, content) VALUES ('whole', '1')
            ON CONFLICT (field) DO NOTHING;
        DELETE FROM holdfast.node n WHERE substr(n.field, 1, 3) = 'at:';
    ELSIF host <> '' AND
        NOT EXISTS (SELECT FROM holdfast.node n WHERE n.field = host) THEN
        DELETE FROM holdfast.node n WHERE n.field IN (
            SELECT h.field FROM holdfast.node h
                WHERE substr(h.field, 1, 3) = 'at:'
                ORDER BY random() OFFSET 63);
        INSERT INTO holdfast.node (field, content)
            VALUES (host, seen_ms::text);
    END IF;
    RETURN 1;
END
$fn$;

-- A marker that was restored from a dump names no server. "unlogged": a table
-- that a crash empties, and so the end of one backend, after which "start" is
-- the same. Only of holdfast.waiter nothing is lost, since waiters queue again.
CREATE OR REPLACE FUNCTION holdfast.facts()
RETURNS TABLE (field text, content text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $fn$
BEGIN
    RETURN QUERY
        SELECT n.field, n.content FROM holdfast.node n
            WHERE n.field NOT IN ('run_id', 'replid') OR EXISTS (
                SELECT FROM holdfast.node v WHERE v.field = 'v'
                    AND split_part(v.timeline, '-', 2) = v.xmin::text)
        UNION ALL
        VALUES ('server:now_us', holdfast.clock()::text),
            ('server:version', current_setting('server_version_num')),
            ('server:schema', holdfast.schema_version()::text),
            ('server:recovery', pg_is_in_recovery()::int::text),
            ('server:durable', (current_setting('fsync')::boolean
                AND current_setting('full_page_writes')::boolean
                AND current_setting('synchronous_commit') <> 'off')
                    ::int::text),
            ('server:synchronous',
                (current_setting('synchronous_standby_names') <> '')
                    ::int::text),
            ('server:system',
                (SELECT (c.system_identifier
                    # ('holdfast.lock'::regclass::oid::bigint << 8)
                    # (d.oid::bigint << 20))::text
                FROM pg_control_system() c, pg_database d
                WHERE d.datname = current_database())),
            ('server:timeline', CASE WHEN pg_is_in_recovery() THEN ''
                ELSE holdfast.timeline() END),
            ('server:start', (date_part('epoch', pg_postmaster_start_time())
                * 1000000)::bigint::text),
            ('server:pid', pg_backend_pid()::text)
        UNION ALL
        SELECT 'server:unlogged', c.relname FROM pg_class c
            WHERE c.relnamespace = 'holdfast'::regnamespace
                AND c.relname IN ('lock', 'sharer', 'once', 'node', 'value')
                AND c.relpersistence <> 'p';
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.listen(channel text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $fn$
BEGIN
    IF channel IS NULL OR octet_length(channel) NOT BETWEEN 1 AND 63 THEN
        RAISE EXCEPTION 'holdfast: the channel has % bytes, must be 1 to 63',
            coalesce(octet_length(channel)::text, 'no')
            USING ERRCODE = '22023';
    END IF;
    -- A session that its client has left may have the lock for hours, and a
    -- call that waits for it blocks all later requests of this session.
    IF NOT pg_try_advisory_lock(CHANNEL_LOCKS, hashtext(channel)) THEN
        RAISE EXCEPTION 'holdfast: another session has the lock of channel %',
            channel
            USING ERRCODE = '55006', HINT = 'Listen on a channel of your own.';
    END IF;
    EXECUTE format('LISTEN %I', channel);
    -- A session does not exclude itself (is_heard).
    PERFORM set_config('holdfast.channel', channel, false);
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.unlisten(channel text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $fn$
BEGIN
    EXECUTE format('UNLISTEN %I', channel);
    PERFORM pg_advisory_unlock(CHANNEL_LOCKS, hashtext(channel));
    PERFORM set_config('holdfast.channel', '', false);
END
$fn$;
