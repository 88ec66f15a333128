-- SPDX-License-Identifier: Apache-2.0
-- MariaDB 10.6 and later, MySQL 8.0: refuse the writes of a lock's former
-- holders.
--
--   holdfast guard mysql | mariadb         (or: | mysql)
--   GRANT EXECUTE ON PROCEDURE holdfast.fence TO app;
--   GRANT EXECUTE ON FUNCTION holdfast.fence TO app;
--
-- A writer presents its fence in the transaction that writes, or in the
-- statement:
--
--   START TRANSACTION;
--   CALL holdfast.fence('account-7', 1795394564521984);
--   UPDATE accounts SET balance = 50 WHERE id = 7;
--   COMMIT;
--
--   UPDATE accounts SET balance = 50
--       WHERE id = 7 AND holdfast.fence('account-7', 1795394564521984);
--
-- The guard keeps one row per lock: the largest fence that was presented. A
-- lower one is an error (SQLSTATE 45000). The row stays locked until the
-- transaction ends, so no other fence can pass between a check and its write.
-- Running this file again replaces the routines and keeps the rows. MariaDB
-- keeps the EXECUTE rights too. MySQL, which has no OR REPLACE, drops them with
-- the routines: grant them again.

-- Routines and triggers keep this mode, whatever their caller's is.
SET NAMES utf8mb4;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION';
SET SESSION lock_wait_timeout = 10;
-- Whatever an option file or the server has configured.
SET SESSION sql_big_selects = 1 /*M! , SESSION max_statement_time = 0 */;
SET SESSION TRANSACTION READ WRITE;

CREATE DATABASE IF NOT EXISTS holdfast;

-- Names are bytes: no collation takes two of them for one.
CREATE TABLE IF NOT EXISTS holdfast.guard (
    name VARBINARY(1028) NOT NULL PRIMARY KEY,
    fence BIGINT UNSIGNED NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

DELIMITER //

/*!80000 DROP PROCEDURE IF EXISTS holdfast.guard_install */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.guard_install()
    SQL SECURITY INVOKER
BEGIN
    IF NOT EXISTS (SELECT 1 FROM information_schema.tables t
            WHERE t.table_schema = 'holdfast' AND t.table_name = 'guard'
                AND t.engine = 'InnoDB') THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'holdfast: holdfast.guard must be a table of InnoDB';
    END IF;
    IF @@global.log_bin = 1 AND @@global.log_bin_trust_function_creators = 0
            AND NOT EXISTS (SELECT 1 FROM information_schema.user_privileges p
                WHERE p.privilege_type = 'SUPER'
                    AND REPLACE(p.grantee, '\'', '') = CURRENT_USER()) THEN
        SELECT 'If error 1419 follows: install as a user with SUPER, or SET '
            'GLOBAL log_bin_trust_function_creators = 1 before.' AS holdfast;
    END IF;
END//
CALL holdfast.guard_install()//

-- Each statement here is a transaction. What ends half-way leaves this mark,
-- and a guard that works, or whose callers fail; to run this file again mends
-- it. The last statement takes the mark away.
/*!80000 DROP FUNCTION IF EXISTS holdfast.guard_version */ //
CREATE /*M! OR REPLACE */ FUNCTION holdfast.guard_version() RETURNS INT
    DETERMINISTIC NO SQL COMMENT 'version 2, incomplete' RETURN 0//

-- Compare with the guard's row and lock it. All reads are locking reads: a
-- plain one could be of an old snapshot, and would begin the caller's snapshot
-- before the lock. A session that has presented this very fence shares the row
-- and writes nothing. Another one locks it alone at once, since a shared lock
-- that is raised later deadlocks with a second one.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.guard_check */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.guard_check(
    IN lock_name BLOB, IN given BIGINT UNSIGNED)
BEGIN
    DECLARE seen BIGINT UNSIGNED;
    DECLARE message TEXT CHARACTER SET utf8mb4;
    DECLARE entry TEXT CHARACTER SET ascii
        DEFAULT CONCAT(HEX(lock_name), '=', given);
    DECLARE passed TEXT CHARACTER SET ascii DEFAULT @holdfast_passed;
    IF COALESCE(LENGTH(lock_name), 0) NOT BETWEEN 1 AND 1028 THEN
        SET message = CONCAT('holdfast: the name of a lock has 1 to 1028 '
            'bytes, this one has ', COALESCE(LENGTH(lock_name), 0));
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = message;
    END IF;
    IF passed = entry THEN
        -- Inside of functions and triggers a table has one kind of lock per
        -- alias.
        SET seen = (SELECT s.fence FROM holdfast.guard s
            WHERE s.name = lock_name LOCK IN SHARE MODE);
    END IF;
    IF seen IS NULL OR seen < given THEN
        INSERT INTO holdfast.guard (name, fence) VALUES (lock_name, given)
            ON DUPLICATE KEY UPDATE fence = GREATEST(fence, given);
        SET seen = (SELECT g.fence FROM holdfast.guard g
            WHERE g.name = lock_name FOR UPDATE);
    END IF;
    IF seen IS NULL OR seen > given THEN
        -- A message has at most 128 characters in MySQL.
        SET message = CONCAT('holdfast: fence ', given, ' of ',
            holdfast.guard_shown(lock_name), ' is stale: ', seen,
            ' was presented');
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = message;
    END IF;
    SET @holdfast_passed = entry;
END//

-- A name in a message: 'account-7', or X'00FF' if it is no text.
/*!80000 DROP FUNCTION IF EXISTS holdfast.guard_shown */ //
CREATE /*M! OR REPLACE */ FUNCTION holdfast.guard_shown(lock_name BLOB)
RETURNS VARCHAR(64) CHARACTER SET utf8mb4
DETERMINISTIC NO SQL
BEGIN
    DECLARE shown TEXT CHARACTER SET utf8mb4;
    DECLARE CONTINUE HANDLER FOR SQLWARNING, SQLEXCEPTION SET shown = NULL;
    SET shown = CONVERT(lock_name USING utf8mb4);
    IF shown IS NULL OR LOCATE(X'00', lock_name) > 0 THEN
        RETURN COALESCE(CONCAT('X\'', HEX(LEFT(lock_name, 18)),
            IF(LENGTH(lock_name) > 18, '...', ''), '\''), 'NULL');
    END IF;
    RETURN CONCAT('\'', LEFT(shown, 37),
        IF(CHAR_LENGTH(shown) > 37, '...', ''), '\'');
END//

-- The fence is text, since a BIGINT UNSIGNED would take -1, 1e30 and '42x' for
-- numbers in a session that is not strict.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.guard_present */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.guard_present(IN lock_name BLOB,
    IN given VARCHAR(64) CHARACTER SET utf8mb4)
BEGIN
    DECLARE message TEXT CHARACTER SET utf8mb4;
    IF given IS NULL OR given = '0'
            OR HEX(given) <> HEX(CAST(CAST(given AS UNSIGNED) AS CHAR)) THEN
        SET message = CONCAT('holdfast: ', COALESCE(LEFT(given, 24), 'NULL'),
            ' is no fence: 1 to 18446744073709551615 '
            '(0: the lock is not held)');
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = message;
    END IF;
    CALL holdfast.guard_check(lock_name, CAST(given AS UNSIGNED));
END//

-- Present a fence in a transaction. Outside of one it would protect nothing:
-- there a savepoint ends with its own statement.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.fence */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.fence(IN lock_name BLOB,
    IN given VARCHAR(64) CHARACTER SET utf8mb4)
    MODIFIES SQL DATA
BEGIN
    BEGIN
        DECLARE EXIT HANDLER FOR 1305 SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'holdfast: no transaction: START TRANSACTION before, or use '
            'the function holdfast.fence() in the statement that writes';
        SAVEPOINT holdfast_fence;
        RELEASE SAVEPOINT holdfast_fence;
    END;
    CALL holdfast.guard_present(lock_name, given);
END//

-- Present a fence in the statement that writes: WHERE ... AND
-- holdfast.fence(NAME, FENCE). Returns 1, or raises an error. The triggers of
-- this statement find it: a statement of the session is known by its start.
/*!80000 DROP FUNCTION IF EXISTS holdfast.fence */ //
CREATE /*M! OR REPLACE */ FUNCTION holdfast.fence(lock_name BLOB,
    given VARCHAR(64) CHARACTER SET utf8mb4)
RETURNS INT
DETERMINISTIC MODIFIES SQL DATA
BEGIN
    DECLARE now_is TEXT CHARACTER SET ascii
        DEFAULT CONCAT(UTC_TIMESTAMP(6), ' ');
    DECLARE list LONGTEXT CHARACTER SET ascii
        DEFAULT COALESCE(@holdfast_presented, '');
    DECLARE entry TEXT CHARACTER SET ascii DEFAULT
        CONCAT(HEX(lock_name), '=', given, ' ');
    CALL holdfast.guard_present(lock_name, given);
    IF LEFT(list, LENGTH(now_is)) <> now_is THEN
        SET list = now_is;
    END IF;
    IF LOCATE(CONCAT(' ', entry), list) = 0 THEN
        SET list = CONCAT(now_is, entry, SUBSTRING(list, LENGTH(now_is) + 1));
    END IF;
    SET @holdfast_presented = list;
    RETURN 1;
END//

-- The fence that this statement has presented of a name, or NULL: by the row
-- that it tries to insert, or by the function.
/*!80000 DROP FUNCTION IF EXISTS holdfast.guard_presented */ //
CREATE /*M! OR REPLACE */ FUNCTION holdfast.guard_presented(lock_name BLOB)
RETURNS BIGINT UNSIGNED
READS SQL DATA
BEGIN
    DECLARE now_is TEXT CHARACTER SET ascii
        DEFAULT CONCAT(UTC_TIMESTAMP(6), ' ');
    DECLARE entry TEXT CHARACTER SET ascii
        DEFAULT CONCAT(' ', HEX(lock_name), '=');
    DECLARE list LONGTEXT CHARACTER SET ascii
        DEFAULT COALESCE(@holdfast_row, '');
    IF LEFT(list, LENGTH(now_is)) <> now_is OR LOCATE(entry, list) = 0 THEN
        SET list = COALESCE(@holdfast_presented, '');
    END IF;
    IF LEFT(list, LENGTH(now_is)) <> now_is OR LOCATE(entry, list) = 0 THEN
        RETURN NULL;
    END IF;
    RETURN SUBSTRING_INDEX(
        SUBSTRING(list, LOCATE(entry, list) + LENGTH(entry)), ' ', 1);
END//

-- For the triggers of a table: the fence that a row is written with. Theirs is
-- in the fence column; a value that was read from a row is negative, and none.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.guard_given */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.guard_given(
    IN what TEXT CHARACTER SET utf8mb4, IN lock_name BLOB,
    IN fence_column BIGINT, OUT given BIGINT)
BEGIN
    DECLARE message TEXT CHARACTER SET utf8mb4;
    DECLARE presented BIGINT UNSIGNED DEFAULT IF(fence_column > 0,
        fence_column, holdfast.guard_presented(lock_name));
    IF presented IS NULL THEN
        SET message = CONCAT('holdfast: ', LEFT(what, 44),
            ' presents no fence of ', holdfast.guard_shown(lock_name));
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = message;
    END IF;
    -- What a session that is not strict makes of a number beyond it.
    IF presented >= 9223372036854775807 THEN
        SET message = CONCAT('holdfast: ', presented,
            ' is no fence: in a column 1 to 9223372036854775806');
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = message;
    END IF;
    SET given = presented;
END//

-- For the AFTER triggers of a table: what the row has been stored with, since a
-- trigger of the table's owner may come between and change name and column.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.guard_stored */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.guard_stored(
    IN what TEXT CHARACTER SET utf8mb4, IN lock_name BLOB,
    IN of_column TEXT CHARACTER SET utf8mb4, IN fence_column BIGINT)
BEGIN
    DECLARE message TEXT CHARACTER SET utf8mb4;
    IF COALESCE(fence_column, 0) >= 0 THEN
        SET message = CONCAT('holdfast: ', LEFT(what, 44),
            ': a later trigger has changed the column ', LEFT(of_column, 32));
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = message;
    END IF;
    CALL holdfast.guard_check(lock_name, -fence_column);
END//

-- For an INSERT that becomes an UPDATE, or, by REPLACE, a DELETE.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.guard_remember */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.guard_remember(
    IN lock_name BLOB, IN given BIGINT)
BEGIN
    SET @holdfast_row = CONCAT(UTC_TIMESTAMP(6), ' ', HEX(lock_name), '=',
        given);
END//

-- Can the table have the trigger? Columns whose text is not the same in all
-- sessions, or not known yet in a BEFORE trigger, make no name of a lock.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.guard_table */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.guard_table(
    IN of_schema VARCHAR(64) CHARACTER SET utf8mb4,
    IN of_table VARCHAR(64) CHARACTER SET utf8mb4,
    IN of_column VARCHAR(64) CHARACTER SET utf8mb4,
    IN of_lock TEXT CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER
BEGIN
    DECLARE message TEXT CHARACTER SET utf8mb4;
    DECLARE bad_column VARCHAR(64) CHARACTER SET utf8mb4 DEFAULT (
        SELECT MIN(c.column_name) FROM information_schema.columns c
            WHERE c.table_schema = of_schema AND c.table_name = of_table
                AND LOCATE(CONCAT('{', c.column_name, '}'), of_lock) > 0
                AND (c.data_type IN ('timestamp', 'float', 'double')
                    OR COALESCE(c.generation_expression, '') <> ''));
    IF NOT EXISTS (SELECT 1 FROM information_schema.tables t
            WHERE t.table_schema = of_schema AND t.table_name = of_table) THEN
        SET message = CONCAT('holdfast: no table ', LEFT(of_table, 44),
            ' in ', LEFT(of_schema, 44), ' for this user');
    ELSEIF NOT EXISTS (SELECT 1 FROM information_schema.tables t
            WHERE t.table_schema = of_schema AND t.table_name = of_table
                AND t.table_type <> 'SYSTEM VERSIONED') THEN
        SET message = CONCAT('holdfast: ', LEFT(of_table, 48),
            ' is system-versioned: the guard does not know such tables');
    ELSEIF NOT EXISTS (SELECT 1 FROM information_schema.tables t
            WHERE t.table_schema = of_schema AND t.table_name = of_table
                AND t.table_type = 'BASE TABLE' AND t.engine = 'InnoDB') THEN
        SET message = CONCAT('holdfast: ', LEFT(of_table, 48), ' must be a '
            'table of InnoDB: others keep what is rolled back');
    ELSEIF NOT EXISTS (SELECT 1 FROM information_schema.columns c
            WHERE c.table_schema = of_schema AND c.table_name = of_table
                AND c.column_name = of_column AND c.data_type = 'bigint'
                AND c.column_type NOT LIKE '%unsigned%'
                AND COALESCE(c.generation_expression, '') = '') THEN
        SET message = CONCAT('holdfast: ', LEFT(of_table, 40), ' needs a '
            'column ', LEFT(of_column, 32), ' of type BIGINT');
    ELSEIF bad_column IS NOT NULL THEN
        SET message = CONCAT('holdfast: no lock name of ', LEFT(bad_column, 20),
            ': TIMESTAMP follows time_zone, FLOAT and DOUBLE are rounded, '
            'generated comes late');
    END IF;
    IF message IS NOT NULL THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = message;
    END IF;
END//

-- Of this text: holdfast guard mysql --install reads it (cli/cmd_guard.c).
/*!80000 DROP FUNCTION IF EXISTS holdfast.guard_version */ //
CREATE /*M! OR REPLACE */ FUNCTION holdfast.guard_version() RETURNS INT
    DETERMINISTIC NO SQL COMMENT 'version 2' RETURN 2//
DELIMITER ;
