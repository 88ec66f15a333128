
-- ---- Values ----------------------------------------------------------------

/*!80000 DROP PROCEDURE IF EXISTS holdfast.value_get */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.value_get(
    IN lock_name VARBINARY(1281))
BEGIN
    SELECT 1 AS verdict, IF(v.data IS NULL, 0, v.version) AS version, v.data,
            v.id
        FROM holdfast.value v
        WHERE v.name = lock_name
            AND (v.data IS NOT NULL OR v.until >= holdfast.clock() DIV 1000)
    UNION ALL SELECT 1, 0, NULL, NULL
    LIMIT 1;
END//

/*!80000 DROP PROCEDURE IF EXISTS holdfast.check_value */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.check_value(
    IN id VARBINARY(65), IN keep_ms BIGINT, IN bytes BIGINT)
    SQL SECURITY INVOKER
BEGIN
    IF COALESCE(LENGTH(id), 0) NOT BETWEEN 1 AND 64 THEN
        CALL holdfast.fail(CONCAT('holdfast: the id of the write has ',
            COALESCE(LENGTH(id), 'no'), ' bytes, must be 1 to 64'));
    ELSEIF keep_ms IS NULL AND bytes IS NULL THEN
        CALL holdfast.fail(
            'holdfast: no value to write; keep_ms deletes the present one');
    ELSEIF keep_ms IS NOT NULL AND bytes IS NOT NULL THEN
        CALL holdfast.fail(
            'holdfast: keep_ms deletes a value and data writes one: not both');
    ELSEIF bytes > 262144 THEN
        CALL holdfast.fail(CONCAT('holdfast: a value has at most 262144 bytes; '
            'this one has ', bytes));
    END IF;
END//

-- Write or delete a value if it has the expected version. Versions never
-- repeat: each is greater than the last, and than the clock at each earlier
-- write. The id tells an earlier copy of the same write. A refusal by a
-- committed version neither waits nor writes. A value does not expire and has
-- no quarantine: its server must be one with commits on disk.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.value_put */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.value_put(
    IN lock_name VARBINARY(1281), IN expected BIGINT, IN id VARBINARY(65),
    IN keep_ms BIGINT, IN data MEDIUMBLOB)
BEGIN
    DECLARE us, until, last, version BIGINT;
    DECLARE written VARBINARY(64);
    DECLARE is_there BOOLEAN DEFAULT FALSE;
    DECLARE verdict INT DEFAULT 0;
    DECLARE patience BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    CALL holdfast.check_call(lock_name, 'x', COALESCE(keep_ms, 0));
    CALL holdfast.check_value(id, keep_ms, LENGTH(data));
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            ROLLBACK;
            SET SESSION innodb_lock_wait_timeout = patience;
            RESIGNAL;
        END;
        SET SESSION innodb_lock_wait_timeout = 1;
        START TRANSACTION;
        rules: BEGIN
            DECLARE CONTINUE HANDLER FOR NOT FOUND SET version = 0;
            SELECT IF(v.data IS NULL, 0, v.version), v.id INTO version, written
                FROM holdfast.value v WHERE v.name = lock_name;
            IF expected <> version AND NOT written <=> id THEN
                LEAVE rules;
            END IF;
            INSERT INTO holdfast.value (name, version, id, data, until)
                VALUES (lock_name, 0, '', NULL, 0)
                ON DUPLICATE KEY UPDATE name = lock_name;
            SELECT v.version, v.id, v.data IS NOT NULL, v.until
                INTO last, written, is_there, until
                FROM holdfast.value v WHERE v.name = lock_name FOR UPDATE;
            SET us = holdfast.clock();
            IF until = 0 THEN -- a new row
                CALL holdfast.sweep_some(lock_name, us DIV 1000);
            END IF;
            IF NOT is_there AND until < us DIV 1000 THEN
                SET last = 0, written = '';
            END IF;
            SET version = last;
            IF written = id THEN
                SET verdict = 1;
                LEAVE rules;
            END IF;
            IF NOT is_there THEN
                SET version = 0;
            END IF;
            IF expected <> version THEN
                LEAVE rules;
            END IF;
            SET version = GREATEST(last + 1, us), verdict = 1;
            CALL holdfast.check_counter(version);
            UPDATE holdfast.value v
                SET v.version = version, v.id = id,
                    v.data = IF(keep_ms IS NULL, data, NULL),
                    v.until = us DIV 1000 + (version - us + 999) DIV 1000
                        + keep_ms
                WHERE v.name = lock_name;
        END rules;
        COMMIT;
        SET SESSION innodb_lock_wait_timeout = patience;
    END;
    SELECT verdict, version;
END//
