SET client_encoding = 'UTF8';
BEGIN;
SET LOCAL client_min_messages = warning;
SET LOCAL lock_timeout = '10s';
-- An error, where a policy would hide rows from the UPDATE.
SET LOCAL row_security = off;
DROP TRIGGER IF EXISTS holdfast_guard ON @TABLE@;

DO $holdfast_table$
DECLARE
    of_table oid;
    heir text;
    kind text;
    arguments text[] := ARRAY[@ARGUMENTS@];
    is_generated boolean;
BEGIN
    -- The type of a row, since a name in a literal would need quotes twice.
    SELECT t.typrelid INTO of_table FROM pg_catalog.pg_type t
        WHERE t.oid = (SELECT pg_catalog.pg_typeof(holdfast_row)
            FROM (SELECT 1) one
                LEFT JOIN ONLY @TABLE@ holdfast_row ON false);
    -- A write of a parent runs the triggers of each row's own table. Partitions
    -- get theirs with it, other children do not.
    WITH RECURSIVE below (child) AS (
        SELECT i.inhrelid FROM pg_catalog.pg_inherits i
            WHERE i.inhparent = of_table
        UNION
        SELECT i.inhrelid FROM below
            JOIN pg_catalog.pg_inherits i ON i.inhparent = below.child)
    SELECT c.oid::pg_catalog.regclass INTO heir
        FROM below JOIN pg_catalog.pg_class c ON c.oid = below.child
        WHERE NOT c.relispartition
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger g
                WHERE g.tgrelid = c.oid AND g.tgname = 'holdfast_guard'
                    AND g.tgenabled IN ('O', 'A'))
        LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'holdfast: the table % inherits from % and has no'
            ' guard: a write of its parent changes its rows without a fence;'
            ' install the triggers of % first', heir,
            of_table::pg_catalog.regclass, heir;
    END IF;
    -- A type that rounds a fence lets an older one pass, and one that is too
    -- small for it lets none pass.
    SELECT a.atttypid::pg_catalog.regtype::text INTO kind
        FROM pg_catalog.pg_attribute a
        JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
        WHERE a.attrelid = of_table AND a.attname = arguments[1]
            AND (CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END)
                NOT IN ('int8'::pg_catalog.regtype,
                    'numeric'::pg_catalog.regtype,
                    'text'::pg_catalog.regtype,
                    'varchar'::pg_catalog.regtype);
    IF FOUND THEN
        RAISE EXCEPTION 'holdfast: the column % of % is of type %: it must be'
            ' of type bigint', arguments[1],
            of_table::pg_catalog.regclass, kind;
    END IF;
    -- A BEFORE trigger does not see what is generated.
    FOR i IN 3 .. pg_catalog.cardinality(arguments) BY 2 LOOP
        SELECT a.attgenerated <> '' INTO is_generated
            FROM pg_catalog.pg_attribute a
            WHERE a.attrelid = of_table AND a.attname = arguments[i];
        IF is_generated THEN
            RAISE EXCEPTION 'holdfast: the column % of % is generated after the'
                ' trigger: it makes no lock name', arguments[i],
                of_table::pg_catalog.regclass;
        ELSIF is_generated IS NULL THEN
            RAISE EXCEPTION 'holdfast: % has no column %',
                of_table::pg_catalog.regclass, arguments[i];
        END IF;
    END LOOP;
END
$holdfast_table$;

-- A fence that is there already has not been presented: without the negation
-- one write of each such row would pass. No writer comes between. The guard's
-- own values are negative.
LOCK TABLE @TABLE@ IN SHARE ROW EXCLUSIVE MODE;
UPDATE @TABLE@ SET @COLUMN@ = -(@COLUMN@::bigint) WHERE @COLUMN@::bigint > 0;
CREATE TRIGGER holdfast_guard BEFORE INSERT OR UPDATE OR DELETE ON @TABLE@
    FOR EACH ROW EXECUTE FUNCTION holdfast.guard_row(@ARGUMENTS@);
COMMIT;
