-- SPDX-License-Identifier: Apache-2.0
-- Version 1 of the guard, which had one text for every SQLite.
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS holdfast_guard (
    name TEXT NOT NULL PRIMARY KEY,
    fence INTEGER NOT NULL,
    is_deleting INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
DROP VIEW IF EXISTS holdfast_fence;
CREATE VIEW holdfast_fence AS SELECT name, fence FROM holdfast_guard;
CREATE TRIGGER holdfast_fence INSTEAD OF INSERT ON holdfast_fence
BEGIN
    SELECT RAISE(ROLLBACK, 'holdfast: the name of a lock has 1 to 1028 bytes')
        WHERE coalesce(length(CAST(NEW.name AS BLOB)), 0)
            NOT BETWEEN 1 AND 1028;
    SELECT RAISE(ROLLBACK, 'holdfast: a fence must be 1 to 9223372036854775807 (0: the lock is not held)')
        WHERE typeof(NEW.fence) NOT IN ('integer', 'text')
            OR CAST(NEW.fence AS INTEGER) < 1
            OR CAST(CAST(NEW.fence AS INTEGER) AS TEXT)
                <> CAST(NEW.fence AS TEXT);
    SELECT RAISE(ROLLBACK, 'holdfast: stale fence: a larger one was presented, see SELECT * FROM holdfast_fence; another holder has written since: do not repeat this write')
        FROM holdfast_guard
        WHERE name = CAST(NEW.name AS TEXT)
            AND fence > CAST(NEW.fence AS INTEGER);
    UPDATE holdfast_guard SET fence = CAST(NEW.fence AS INTEGER)
        WHERE name = CAST(NEW.name AS TEXT)
            AND fence < CAST(NEW.fence AS INTEGER);
    UPDATE holdfast_guard SET is_deleting = 0
        WHERE name = CAST(NEW.name AS TEXT) AND is_deleting <> 0;
    INSERT INTO holdfast_guard (name, fence)
        SELECT CAST(NEW.name AS TEXT), CAST(NEW.fence AS INTEGER)
        WHERE NOT EXISTS (SELECT 1 FROM holdfast_guard
            WHERE name = CAST(NEW.name AS TEXT));
END;
UPDATE holdfast_guard SET is_deleting = 0 WHERE is_deleting <> 0;
DROP VIEW IF EXISTS holdfast_guard_version;
CREATE VIEW holdfast_guard_version AS SELECT 1 AS version;
COMMIT;
