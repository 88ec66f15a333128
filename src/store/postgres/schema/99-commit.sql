
-- Default privileges may have taken it away. The guard (cli/guard/postgres.sql)
-- may lie in this schema too: its rights are its own.
DO $do$
DECLARE
    verb pg_catalog.regprocedure;
BEGIN
    FOR verb IN SELECT p.oid
        FROM pg_catalog.pg_proc p
        JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname = 'holdfast' AND p.prokind = 'f'
            AND p.proname <> 'fence' AND p.proname NOT LIKE 'guard\_%'
    LOOP
        EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC',
            verb);
    END LOOP;
END
$do$;

COMMIT;
