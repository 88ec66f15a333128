
-- ---- The clock, and the marker ---------------------------------------------

-- Microseconds since 1970. Tests replace it. UTC, since an hour of local time
-- comes twice a year; SYSDATE(), since SET TIMESTAMP does not move it. A text
-- that names no character set has the database's, and a zone in utf16 is none.
/*!80000 DROP FUNCTION IF EXISTS holdfast.clock */ //
CREATE /*M! OR REPLACE */ FUNCTION holdfast.clock() RETURNS BIGINT
    NOT DETERMINISTIC NO SQL
BEGIN
    DECLARE zone VARCHAR(64) CHARACTER SET utf8mb4
        DEFAULT @@SESSION.time_zone;
    DECLARE us BIGINT;
    SET SESSION time_zone = '+00:00';
    SET us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
    SET SESSION time_zone = zone;
    RETURN us;
END//

/*!80000 DROP PROCEDURE IF EXISTS holdfast.schema_version */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.schema_version()
BEGIN
    SELECT v.version FROM holdfast.version v;
END//

-- Does the node have all locks, as far as is known? Not in quarantine. A
-- promoted replica has another server id than the server that was declared.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.compare_marker */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.compare_marker(
    IN marker VARBINARY(1024), OUT is_marker BOOLEAN)
    SQL SECURITY INVOKER
BEGIN
    SELECT COUNT(*) INTO is_marker FROM holdfast.node n
        WHERE n.field = 'v' AND n.server_id = @@GLOBAL.server_id
            AND (n.content = marker OR (marker IS NULL
                AND EXISTS (SELECT 1 FROM holdfast.node w
                    WHERE w.field = 'whole')));
END//

/*!80000 DROP PROCEDURE IF EXISTS holdfast.fail */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.fail(
    IN message VARCHAR(128) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER
BEGIN
    SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = message;
END//

-- It reads no table, which would begin a transaction. A definer with SUPER may
-- write to a read-only replica: its verbs must not. From MariaDB 12.0 read_only
-- is a word, of which SQL takes each for false.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.check_call */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.check_call(
    IN lock_name VARBINARY(1281), IN caller VARBINARY(600), IN span_ms BIGINT)
    SQL SECURITY INVOKER
BEGIN
    IF @@GLOBAL.read_only NOT IN ('0', 'OFF') THEN
        SIGNAL SQLSTATE '25006' SET MESSAGE_TEXT =
            'holdfast: the server is read-only; a replica grants no locks';
    ELSEIF COALESCE(LENGTH(lock_name), 0) NOT BETWEEN 1 AND 1280 THEN
        CALL holdfast.fail(CONCAT('holdfast: the name has ',
            COALESCE(LENGTH(lock_name), 'no'), ' bytes, must be 1 to 1280'));
    ELSEIF COALESCE(LENGTH(caller), 0) NOT BETWEEN 1 AND 512 THEN
        CALL holdfast.fail(CONCAT('holdfast: the owner has ',
            COALESCE(LENGTH(caller), 'no'), ' bytes, must be 1 to 512'));
    ELSEIF COALESCE(span_ms, -1) NOT BETWEEN 0 AND 4398046511104 THEN
        CALL holdfast.fail(CONCAT('holdfast: a span of ',
            COALESCE(span_ms, 'no'), ' ms, must be 0 to 4398046511104'));
    END IF;
END//

-- The same of a verb that writes a counter: it must not expire before the clock
-- floor has passed it, or its fence comes again.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.check_verb */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.check_verb(
    IN lock_name VARBINARY(1281), IN caller VARBINARY(600), IN span_ms BIGINT,
    IN place_ms BIGINT, IN keep_ms BIGINT)
    SQL SECURITY INVOKER
BEGIN
    CALL holdfast.check_call(lock_name, caller, IF(LEAST(span_ms, place_ms) < 0,
        LEAST(span_ms, place_ms), GREATEST(span_ms, place_ms)));
    IF COALESCE(keep_ms, -1) NOT BETWEEN 10000 AND 4398046511104 THEN
        CALL holdfast.fail(CONCAT('holdfast: fence_keep is ',
            COALESCE(keep_ms, 'no'), ' ms, must be 10000 to 4398046511104'));
    END IF;
END//

/*!80000 DROP PROCEDURE IF EXISTS holdfast.check_counter */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.check_counter(IN v BIGINT)
    SQL SECURITY INVOKER
BEGIN
    IF v > 9007199254740991 THEN
        SIGNAL SQLSTATE 'HF002' SET MESSAGE_TEXT =
            'holdfast: fences of this name are used up';
    END IF;
END//
