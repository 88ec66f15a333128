
SET NAMES utf8mb4;
-- Routines keep this mode, whatever their caller's is.
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION';
-- Verbs are queued after a statement that waits for a routine.
SET SESSION lock_wait_timeout = 10;

CREATE DATABASE IF NOT EXISTS holdfast;
CREATE TABLE IF NOT EXISTS holdfast.version (
    is_only TINYINT NOT NULL PRIMARY KEY,
    version INT NOT NULL
) ENGINE = InnoDB;

DELIMITER //

-- One installation at a time. With binary logs a server makes functions for
-- users with SUPER alone (error 1419), unless it is configured to trust all:
-- MIXED and ROW logs have the verbs' writes, and never a call of clock().
/*!80000 DROP PROCEDURE IF EXISTS holdfast.install_check */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.install_check()
    SQL SECURITY INVOKER
BEGIN
    DECLARE message TEXT CHARACTER SET utf8mb4;
    DECLARE present INT DEFAULT (SELECT MAX(v.version) FROM holdfast.version v);
    IF present > 1 THEN
        SET message = CONCAT('holdfast: schema holdfast has version ', present,
            ', newer than 1; use a newer holdfast');
        SIGNAL SQLSTATE 'HF003' SET MESSAGE_TEXT = message;
    ELSEIF GET_LOCK('holdfast.install', 10) <> 1 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'holdfast: another session installs the schema; try again';
    ELSEIF @@GLOBAL.log_bin = 1 AND @@GLOBAL.log_bin_trust_function_creators = 0
            AND NOT EXISTS (SELECT 1 FROM information_schema.user_privileges p
                WHERE p.privilege_type = 'SUPER'
                    AND REPLACE(p.grantee, '\'', '') = CURRENT_USER()) THEN
        SELECT 'If error 1419 follows: install as a user with SUPER, or SET '
            'GLOBAL log_bin_trust_function_creators = 1 before.' AS holdfast;
    END IF;
END//
CALL holdfast.install_check()//
