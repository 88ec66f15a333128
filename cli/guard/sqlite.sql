-- SPDX-License-Identifier: Apache-2.0
-- SQLite 3.24 and later: refuse the writes of a lock's former holders.
--
--   holdfast guard sqlite | sqlite3 -bail FILE
--
-- A writer presents its fence in the transaction that writes:
--
--   BEGIN IMMEDIATE;
--   INSERT INTO holdfast_fence (name, fence)
--       VALUES ('account-7', 1795394564521984);
--   UPDATE accounts SET balance = 50 WHERE id = 7;
--   COMMIT;
--
-- The guard keeps one row per lock: the largest fence that was presented. A
-- lower one is an error (SQLITE_CONSTRAINT_TRIGGER), which rolls the
-- transaction back. The INSERT locks the database for writing until the
-- transaction ends, so no other fence can pass between a check and its write.
-- The errors have fixed texts: an older SQLite cannot open a database with a
-- RAISE that computes its text (3.47). holdfast guard sqlite --install makes
-- one, with both fences, if the program sqlite3 is that new.
-- Running this file again replaces views and triggers and keeps the rows.
BEGIN IMMEDIATE;

-- is_deleting is 'TABLE ROWID' inside of an UPDATE of a view
-- holdfast_delete_TABLE, else 0.
CREATE TABLE IF NOT EXISTS holdfast_guard (
    name TEXT NOT NULL PRIMARY KEY,
    fence INTEGER NOT NULL,
    is_deleting INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

DROP VIEW IF EXISTS holdfast_fence;
CREATE VIEW holdfast_fence AS SELECT name, fence FROM holdfast_guard;

-- In a trigger of its own, which alone differs between versions of SQLite.
DROP VIEW IF EXISTS holdfast_stale;
CREATE VIEW holdfast_stale AS
    SELECT name, fence AS given, fence AS seen FROM holdfast_guard WHERE 0;
CREATE TRIGGER holdfast_stale INSTEAD OF INSERT ON holdfast_stale
BEGIN
    SELECT RAISE(ROLLBACK, 'holdfast: stale fence: a larger one was presented, see SELECT * FROM holdfast_fence; another holder has written since: do not repeat this write');
END;

-- No statement here can meet a conflict, since an OR IGNORE or OR REPLACE of
-- the outermost statement would decide it.
CREATE TRIGGER holdfast_fence INSTEAD OF INSERT ON holdfast_fence
BEGIN
    SELECT RAISE(ROLLBACK, 'holdfast: the name of a lock has 1 to 1028 bytes')
        WHERE coalesce(length(CAST(NEW.name AS BLOB)), 0)
            NOT BETWEEN 1 AND 1028;
    -- An integer, or one as text: 9007199254740993 and '9007199254740993'.
    SELECT RAISE(ROLLBACK, 'holdfast: a fence must be 1 to 9223372036854775807 (0: the lock is not held)')
        WHERE typeof(NEW.fence) NOT IN ('integer', 'text')
            OR CAST(NEW.fence AS INTEGER) < 1
            OR CAST(CAST(NEW.fence AS INTEGER) AS TEXT)
                <> CAST(NEW.fence AS TEXT);
    INSERT INTO holdfast_stale (name, given, seen)
        SELECT name, CAST(NEW.fence AS INTEGER), fence FROM holdfast_guard
        WHERE name = CAST(NEW.name AS TEXT)
            AND fence > CAST(NEW.fence AS INTEGER);
    UPDATE holdfast_guard SET fence = CAST(NEW.fence AS INTEGER)
        WHERE name = CAST(NEW.name AS TEXT)
            AND fence < CAST(NEW.fence AS INTEGER);
    -- Left by a delete that another trigger ended by RAISE(FAIL).
    UPDATE holdfast_guard SET is_deleting = 0
        WHERE name = CAST(NEW.name AS TEXT) AND is_deleting <> 0;
    INSERT INTO holdfast_guard (name, fence)
        SELECT CAST(NEW.name AS TEXT), CAST(NEW.fence AS INTEGER)
        WHERE NOT EXISTS (SELECT 1 FROM holdfast_guard
            WHERE name = CAST(NEW.name AS TEXT));
END;
UPDATE holdfast_guard SET is_deleting = 0 WHERE is_deleting <> 0;

-- Of this text: holdfast guard sqlite --install reads it (cli/cmd_guard.c).
DROP VIEW IF EXISTS holdfast_guard_version;
CREATE VIEW holdfast_guard_version AS SELECT 2 AS version;
COMMIT;
