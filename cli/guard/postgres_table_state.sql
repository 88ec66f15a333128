SET client_encoding = 'UTF8';
SELECT 'triggers=' || coalesce(pg_catalog.md5(pg_catalog.string_agg(
        t.tgenabled::text || pg_catalog.pg_get_triggerdef(t.oid), ';'
        ORDER BY t.tgrelid)), '')
    FROM pg_catalog.pg_trigger t
    JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
    JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = 'holdfast' AND p.proname = 'guard_row';
SELECT 'table_grant=' || pg_catalog.format(
    'GRANT SELECT, UPDATE, TRIGGER ON %I TO %I', '@TABLE_TEXT@', current_user);
