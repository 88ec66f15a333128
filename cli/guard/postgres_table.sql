SET client_encoding = 'UTF8';
BEGIN;
SET LOCAL client_min_messages = warning;
SET LOCAL lock_timeout = '10s';
DROP TRIGGER IF EXISTS holdfast_guard ON @TABLE@;
CREATE TRIGGER holdfast_guard BEFORE INSERT OR UPDATE OR DELETE ON @TABLE@
    FOR EACH ROW EXECUTE FUNCTION holdfast.guard_row(@ARGUMENTS@);
COMMIT;
