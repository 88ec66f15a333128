SET client_encoding = 'UTF8';
SELECT 'triggers=' || coalesce(pg_catalog.md5(pg_catalog.string_agg(
        t.tgenabled::text || pg_catalog.pg_get_triggerdef(t.oid), ';'
        ORDER BY t.tgrelid)), '')
    FROM pg_catalog.pg_trigger t
    JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
    JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = 'holdfast' AND p.proname = 'guard_row';
-- To replace a trigger takes the table's owner.
SELECT 'table_grant=' || coalesce((
    SELECT pg_catalog.format('only its owner may replace the trigger: install'
            ' as %I', pg_catalog.pg_get_userbyid(c.relowner))
        FROM pg_catalog.pg_class c
        WHERE c.oid = pg_catalog.to_regclass(holdfast_table.name)
            AND NOT pg_catalog.pg_has_role(c.relowner, 'USAGE')
            AND EXISTS (SELECT FROM pg_catalog.pg_trigger g
                WHERE g.tgrelid = c.oid AND g.tgname = 'holdfast_guard')),
    pg_catalog.format('GRANT SELECT, UPDATE, TRIGGER ON %s TO %I',
        holdfast_table.name, current_user))
    FROM (SELECT coalesce(pg_catalog.quote_ident(@SCHEMA_TEXT@) || '.', '')
        || pg_catalog.quote_ident('@TABLE_TEXT@')) holdfast_table (name);
