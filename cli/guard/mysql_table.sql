SET NAMES utf8mb4;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION';
SET SESSION lock_wait_timeout = 10;
-- Whatever an option file (safe-updates) or the server has configured: an error
-- behind LOCK TABLES would leave the table closed.
SET SESSION sql_safe_updates = 0, SESSION sql_big_selects = 1
    /*M! , SESSION max_statement_time = 0 */;
SET SESSION TRANSACTION READ WRITE;
-- Fails if the guard or a column is missing.
CALL holdfast.guard_table(@SCHEMA_TEXT@, '@TABLE_TEXT@', '@COLUMN_TEXT@',
    '@LOCK_TEXT@');
SELECT T.@COLUMN@, @NAME_OF_T@ FROM @TABLE@ AS T LIMIT 0;

-- RENAME TABLE takes triggers along and keeps their names: then these are of
-- another table, and the text is no statement (error 1064).
SET @AT@holdfast_taken = COALESCE((SELECT CONCAT('holdfast: the triggers of '
        'this name belong to the table ', MIN(t.event_object_table))
    FROM information_schema.triggers t
    WHERE t.trigger_schema = @SCHEMA_TEXT@
        AND t.event_object_table <> '@TABLE_TEXT@'
        AND t.trigger_name IN ('holdfast_insert_@TABLE_TEXT@',
            'holdfast_inserted_@TABLE_TEXT@', 'holdfast_update_@TABLE_TEXT@',
            'holdfast_updated_@TABLE_TEXT@', 'holdfast_delete_@TABLE_TEXT@')),
    'DO 0');
PREPARE holdfast_taken FROM @AT@holdfast_taken;

-- No write comes between: each of these statements is a transaction. If they
-- end half-way, the first three triggers remain, and refuse all writes.
LOCK TABLES @TABLE@ WRITE, @TABLE@ AS T WRITE;
SET @AT@holdfast_installs = 1;
DELIMITER //
/*!80000 DROP TRIGGER IF EXISTS @holdfast_close_i_@ */ //
CREATE /*M! OR REPLACE */ TRIGGER @holdfast_close_i_@ BEFORE INSERT ON @TABLE@
    FOR EACH ROW
BEGIN
    IF @AT@holdfast_installs IS NULL THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'holdfast: the triggers of '
            'this table were not installed to their end: repeat that';
    END IF;
END//
/*!80000 DROP TRIGGER IF EXISTS @holdfast_close_u_@ */ //
CREATE /*M! OR REPLACE */ TRIGGER @holdfast_close_u_@ BEFORE UPDATE ON @TABLE@
    FOR EACH ROW
BEGIN
    IF @AT@holdfast_installs IS NULL THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'holdfast: the triggers of '
            'this table were not installed to their end: repeat that';
    END IF;
END//
/*!80000 DROP TRIGGER IF EXISTS @holdfast_close_d_@ */ //
CREATE /*M! OR REPLACE */ TRIGGER @holdfast_close_d_@ BEFORE DELETE ON @TABLE@
    FOR EACH ROW
BEGIN
    IF @AT@holdfast_installs IS NULL THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'holdfast: the triggers of '
            'this table were not installed to their end: repeat that';
    END IF;
END//
DELIMITER ;
DROP TRIGGER IF EXISTS @holdfast_insert_@;
DROP TRIGGER IF EXISTS @holdfast_inserted_@;
DROP TRIGGER IF EXISTS @holdfast_update_@;
DROP TRIGGER IF EXISTS @holdfast_updated_@;
DROP TRIGGER IF EXISTS @holdfast_delete_@;

-- The column hands the fence over, and is stored negated. So a fence that was
-- read from a row, or left as it was, is never taken for a presented one.
UPDATE @TABLE@ SET @COLUMN@ = -@COLUMN@ WHERE @COLUMN@ > 0;

DELIMITER //
CREATE TRIGGER @holdfast_insert_@ BEFORE INSERT ON @TABLE@
    FOR EACH ROW
BEGIN
    DECLARE given BIGINT;
    DECLARE lock_name BLOB DEFAULT @NAME_OF_NEW@;
    CALL holdfast.guard_given(CONCAT('INSERT into ', '@TABLE_TEXT@'), lock_name,
        NEW.@COLUMN@, given);
    CALL holdfast.guard_remember(lock_name, given);
    SET NEW.@COLUMN@ = -given;
END//

-- AFTER, since a BEFORE trigger does not see the key that AUTO_INCREMENT
-- chooses.
CREATE TRIGGER @holdfast_inserted_@ AFTER INSERT ON @TABLE@
    FOR EACH ROW
BEGIN
    CALL holdfast.guard_stored(CONCAT('INSERT into ', '@TABLE_TEXT@'),
        @NAME_OF_NEW@, '@COLUMN_TEXT@', NEW.@COLUMN@);
END//

CREATE TRIGGER @holdfast_update_@ BEFORE UPDATE ON @TABLE@
    FOR EACH ROW
BEGIN
    DECLARE given, left_with BIGINT;
    DECLARE lock_name BLOB DEFAULT @NAME_OF_NEW@;
    DECLARE left_name BLOB DEFAULT @NAME_OF_OLD@;
    CALL holdfast.guard_given(CONCAT('UPDATE of ', '@TABLE_TEXT@'), lock_name,
        NEW.@COLUMN@, given);
    CALL holdfast.guard_check(lock_name, given);
    IF NOT lock_name <=> left_name THEN
        CALL holdfast.guard_given(CONCAT('UPDATE of ', '@TABLE_TEXT@'),
            left_name, NULL, left_with);
        CALL holdfast.guard_check(left_name, left_with);
    END IF;
    SET NEW.@COLUMN@ = -given;
END//

-- Triggers that run between may have moved the row or changed the column.
CREATE TRIGGER @holdfast_updated_@ AFTER UPDATE ON @TABLE@
    FOR EACH ROW
BEGIN
    DECLARE left_with BIGINT;
    DECLARE lock_name BLOB DEFAULT @NAME_OF_NEW@;
    DECLARE left_name BLOB DEFAULT @NAME_OF_OLD@;
    IF NOT lock_name <=> left_name THEN
        CALL holdfast.guard_given(CONCAT('UPDATE of ', '@TABLE_TEXT@'),
            left_name, NULL, left_with);
        CALL holdfast.guard_check(left_name, left_with);
    END IF;
    CALL holdfast.guard_stored(CONCAT('UPDATE of ', '@TABLE_TEXT@'), lock_name,
        '@COLUMN_TEXT@', NEW.@COLUMN@);
END//

CREATE TRIGGER @holdfast_delete_@ BEFORE DELETE ON @TABLE@
    FOR EACH ROW
BEGIN
    DECLARE given BIGINT;
    DECLARE lock_name BLOB DEFAULT @NAME_OF_OLD@;
    CALL holdfast.guard_given(CONCAT('DELETE from ', '@TABLE_TEXT@'), lock_name,
        NULL, given);
    CALL holdfast.guard_check(lock_name, given);
END//
DELIMITER ;
DROP TRIGGER @holdfast_close_i_@;
DROP TRIGGER @holdfast_close_u_@;
DROP TRIGGER @holdfast_close_d_@;
SET @AT@holdfast_installs = NULL;
UNLOCK TABLES;
