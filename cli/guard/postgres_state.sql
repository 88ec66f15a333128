-- What is installed: lines of NAME=VALUE for holdfast guard --install. From the
-- catalogues alone, since a function of the schema may be another role's.
SELECT 'version=' || coalesce((
    SELECT substring(p.prosrc FROM '[0-9]+')
        FROM pg_catalog.pg_proc p
        JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname = 'holdfast' AND p.proname = 'guard_version'
            AND p.pronargs = 0), (
    SELECT '0' FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'holdfast' AND c.relname = 'guard'), '');
SELECT 'whole=' || (count(*) = 5 AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_proc p
        JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname = 'holdfast'
            AND (p.proname, pg_catalog.oidvectortypes(p.proargtypes)) IN (
                ('guard_check', 'text, bigint'), ('fence', 'text, bigint'),
                ('guard_presented', 'text'), ('guard_row', ''),
                ('guard_version', ''))
            AND p.proacl IS NOT NULL
            AND NOT EXISTS (SELECT FROM pg_catalog.aclexplode(p.proacl) a
                WHERE a.grantee <> p.proowner)))::int
    FROM (SELECT proname, pronamespace FROM pg_catalog.pg_proc
            WHERE (proname, pg_catalog.oidvectortypes(proargtypes)) IN (
                ('guard_check', 'text, bigint'), ('fence', 'text, bigint'),
                ('guard_presented', 'text'), ('guard_row', ''))
          UNION ALL
          SELECT relname, relnamespace FROM pg_catalog.pg_class
            WHERE relname = 'guard' AND relkind = 'r') o (name, space)
    JOIN pg_catalog.pg_namespace n ON n.oid = o.space
    WHERE n.nspname = 'holdfast';
SELECT 'missing=' || CASE
    WHEN NOT EXISTS (SELECT FROM pg_catalog.pg_namespace
            WHERE nspname = 'holdfast')
        AND NOT pg_catalog.has_database_privilege(
            pg_catalog.current_database(), 'CREATE')
    THEN pg_catalog.format('GRANT CREATE ON DATABASE %I TO %I',
        pg_catalog.current_database(), current_user)
    ELSE '' END;
