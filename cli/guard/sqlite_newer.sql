-- SQLite 3.47 and later: the error of a stale fence has both fences. An older
-- SQLite refuses the file from then on: "malformed database schema".
BEGIN IMMEDIATE;
DROP TRIGGER IF EXISTS holdfast_stale;
CREATE TRIGGER holdfast_stale INSTEAD OF INSERT ON holdfast_stale
BEGIN
    SELECT RAISE(ROLLBACK, 'holdfast: fence ' || NEW.given || ' of '
        || quote(NEW.name) || ' is stale: ' || NEW.seen || ' was presented; '
        || 'another holder has written since: do not repeat this write');
END;
COMMIT;
