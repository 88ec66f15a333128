SET client_encoding = 'UTF8';
BEGIN;
SET LOCAL client_min_messages = warning;
SET LOCAL lock_timeout = '10s';
-- An error, where a policy would hide rows from the UPDATE.
SET LOCAL row_security = off;
DROP TRIGGER IF EXISTS holdfast_guard ON @TABLE@;

-- A fence that is there already has not been presented: without the negation
-- one write of each such row would pass. No writer comes between. The guard's
-- own values are negative.
LOCK TABLE @TABLE@ IN SHARE ROW EXCLUSIVE MODE;
UPDATE @TABLE@ SET @COLUMN@ = -(@COLUMN@::bigint) WHERE @COLUMN@::bigint > 0;
CREATE TRIGGER holdfast_guard BEFORE INSERT OR UPDATE OR DELETE ON @TABLE@
    FOR EACH ROW EXECUTE FUNCTION holdfast.guard_row(@ARGUMENTS@);
COMMIT;
