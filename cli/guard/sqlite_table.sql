BEGIN IMMEDIATE;
-- Fails if the guard or a column is missing, or if the table is WITHOUT ROWID.
SELECT T._rowid_, T.@COLUMN@, @NAME_OF_T@, G.is_deleting
    FROM @TABLE@ AS T, holdfast_guard AS G LIMIT 0;
-- Fails if these names are of another table: ALTER TABLE ... RENAME takes
-- triggers along and keeps their names.
CREATE TEMP VIEW holdfast_taken AS SELECT tbl_name FROM main.sqlite_master
    WHERE type = 'trigger' AND name IN ('holdfast_insert_@TABLE_TEXT@',
            'holdfast_check_@TABLE_TEXT@', 'holdfast_update_@TABLE_TEXT@',
            'holdfast_delete_@TABLE_TEXT@')
        AND tbl_name <> '@TABLE_TEXT@' COLLATE NOCASE;
CREATE TEMP TRIGGER holdfast_taken_by INSTEAD OF DELETE ON holdfast_taken
BEGIN
    SELECT RAISE(ROLLBACK, 'holdfast: the triggers of @TABLE_TEXT@ belong to another table, which was renamed: install those of that table, and drop these');
END;
DELETE FROM temp.holdfast_taken;
DROP VIEW temp.holdfast_taken;
-- A column of such a type stores a fence as a text or a floating-point number,
-- and every write would be refused.
CREATE TEMP VIEW holdfast_type AS SELECT type
    FROM pragma_table_info('@TABLE_TEXT@')
    WHERE name = '@COLUMN_TEXT@' COLLATE NOCASE AND type NOT LIKE '%int%'
        AND (type LIKE '%char%' OR type LIKE '%clob%' OR type LIKE '%text%'
            OR type LIKE '%real%' OR type LIKE '%floa%' OR type LIKE '%doub%');
CREATE TEMP TRIGGER holdfast_type_of INSTEAD OF DELETE ON holdfast_type
BEGIN
    SELECT RAISE(ROLLBACK, 'holdfast: the column @COLUMN_TEXT@ of @TABLE_TEXT@ must be of type INTEGER');
END;
DELETE FROM temp.holdfast_type;
DROP VIEW temp.holdfast_type;
DROP TRIGGER IF EXISTS @holdfast_insert_@;
DROP TRIGGER IF EXISTS @holdfast_check_@;
DROP TRIGGER IF EXISTS @holdfast_update_@;
DROP TRIGGER IF EXISTS @holdfast_delete_@;
DROP VIEW IF EXISTS @holdfast_delete_@;

-- The column hands the fence over, and is stored negated. So a fence that was
-- read from a row, or left as it was, is never taken for a presented one.
UPDATE @TABLE@ SET @COLUMN@ = -@COLUMN@
    WHERE typeof(@COLUMN@) = 'integer' AND @COLUMN@ > 0;

-- AFTER, since a BEFORE trigger does not see the key that SQLite chooses.
CREATE TRIGGER @holdfast_insert_@ AFTER INSERT ON @TABLE@
BEGIN
    SELECT RAISE(ROLLBACK, 'holdfast: INSERT into @TABLE_TEXT@ presents no fence of @LOCK_TEXT@: set the column @COLUMN_TEXT@')
        WHERE typeof(NEW.@COLUMN@) <> 'integer' OR NEW.@COLUMN@ < 1;
    INSERT INTO holdfast_fence (name, fence)
        VALUES (@NAME_OF_NEW@, NEW.@COLUMN@);
    UPDATE @TABLE@ SET @COLUMN@ = -NEW.@COLUMN@ WHERE _rowid_ = NEW._rowid_;
END;

-- BEFORE, so that no other trigger's RAISE(IGNORE) or RAISE(FAIL) keeps the row
-- without the check. Not for the negation by these triggers themselves.
CREATE TRIGGER @holdfast_check_@ BEFORE UPDATE ON @TABLE@
WHEN NOT (typeof(OLD.@COLUMN@) = 'integer' AND OLD.@COLUMN@ > 0
    AND NEW.@COLUMN@ IS -OLD.@COLUMN@)
BEGIN
    SELECT RAISE(ROLLBACK, 'holdfast: UPDATE of @TABLE_TEXT@ presents no fence of @LOCK_TEXT@: set the column @COLUMN_TEXT@')
        WHERE typeof(NEW.@COLUMN@) <> 'integer' OR NEW.@COLUMN@ < 1;
    SELECT RAISE(ROLLBACK, 'holdfast: UPDATE of @TABLE_TEXT@ moves a row to another @LOCK_TEXT@: delete it and insert it anew')
        WHERE (@NAME_OF_NEW@) IS NOT (@NAME_OF_OLD@);
    INSERT INTO holdfast_fence (name, fence)
        VALUES (@NAME_OF_NEW@, NEW.@COLUMN@);
END;
CREATE TRIGGER @holdfast_update_@ AFTER UPDATE ON @TABLE@
WHEN typeof(NEW.@COLUMN@) = 'integer' AND NEW.@COLUMN@ > 0
BEGIN
    UPDATE @TABLE@ SET @COLUMN@ = -NEW.@COLUMN@ WHERE _rowid_ = NEW._rowid_;
END;

-- A DELETE cannot hand a fence over. An UPDATE of this view can, and deletes.
-- The mark names the row: it remains, if another trigger ends the delete by
-- RAISE(FAIL) under autocommit, until a fence of the name is presented.
CREATE TRIGGER @holdfast_delete_@ BEFORE DELETE ON @TABLE@
WHEN NOT EXISTS (SELECT 1 FROM holdfast_guard
    WHERE name = @NAME_OF_OLD@
        AND is_deleting = '@TABLE_TEXT@ ' || OLD._rowid_)
BEGIN
    SELECT RAISE(ROLLBACK, 'holdfast: DELETE from @TABLE_TEXT@ presents no fence of @LOCK_TEXT@: UPDATE the view holdfast_delete_@TABLE_TEXT@ SET @COLUMN_TEXT@ instead');
END;
CREATE VIEW @holdfast_delete_@ AS
    SELECT _rowid_ AS holdfast_rowid, * FROM @TABLE@;
CREATE TRIGGER @holdfast_delete_by_@ INSTEAD OF UPDATE ON @holdfast_delete_@
BEGIN
    SELECT RAISE(ROLLBACK, 'holdfast: DELETE from @TABLE_TEXT@ presents no fence of @LOCK_TEXT@: set the column @COLUMN_TEXT@')
        WHERE typeof(NEW.@COLUMN@) NOT IN ('integer', 'text')
            OR CAST(NEW.@COLUMN@ AS INTEGER) < 1;
    INSERT INTO holdfast_fence (name, fence)
        VALUES (@NAME_OF_OLD@, NEW.@COLUMN@);
    UPDATE holdfast_guard
        SET is_deleting = '@TABLE_TEXT@ ' || OLD.holdfast_rowid
        WHERE name = @NAME_OF_OLD@;
    DELETE FROM @TABLE@ WHERE _rowid_ = OLD.holdfast_rowid;
    UPDATE holdfast_guard SET is_deleting = 0 WHERE name = @NAME_OF_OLD@;
END;
COMMIT;
