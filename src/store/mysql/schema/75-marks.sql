
-- ---- Marks of --once -------------------------------------------------------

-- The mark with the greater fence wins. Of equal fences a tombstone (owner '')
-- wins, else the mark that the node has: its end never moves. So a late or
-- repeated write changes nothing. Fence 0 only reads.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.mark */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.mark(
    IN lock_name VARBINARY(1281), IN marker VARBINARY(1024), IN fence BIGINT,
    IN left_ms BIGINT, IN caller VARBINARY(600))
BEGIN
    DECLARE is_marker, is_absent BOOLEAN DEFAULT FALSE;
    DECLARE now, until, present BIGINT;
    DECLARE owner VARBINARY(600);
    DECLARE verdict INT DEFAULT 1;
    DECLARE patience BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    CALL holdfast.check_call(lock_name, 'x', left_ms);
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
            DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_absent = TRUE;
            CALL holdfast.compare_marker(marker, is_marker);
            IF NOT is_marker THEN
                SET verdict = -1;
                LEAVE rules;
            END IF;
            IF fence > 0 THEN
                INSERT INTO holdfast.once (name, fence, owner, until)
                    VALUES (lock_name, 0, '', -1)
                    ON DUPLICATE KEY UPDATE name = lock_name;
            END IF;
            SELECT o.fence, o.owner, o.until INTO present, owner, until
                FROM holdfast.once o WHERE o.name = lock_name FOR UPDATE;
            SET now = holdfast.clock() DIV 1000;
            IF until = -1 THEN -- a new row
                CALL holdfast.sweep_some(lock_name, now);
            END IF;
            IF is_absent OR until < now THEN
                SET present = 0, owner = '', until = now - 2;
            END IF;
            -- Rules: later-write-wins, tombstone-replaced.
            IF fence > present
                OR (fence = present AND caller = '' AND owner <> '') THEN
                SET present = fence, owner = caller, until = now + left_ms;
                UPDATE holdfast.once o
                    SET o.fence = present, o.owner = owner, o.until = until
                    WHERE o.name = lock_name;
            END IF;
        END rules;
        COMMIT;
        SET SESSION innodb_lock_wait_timeout = patience;
    END;
    SELECT verdict, present AS counter, until - now AS left_ms, owner,
        0 AS floor, 0 AS bound, 0 AS ticket, 0 AS ahead, 0 AS node_us,
        0 AS terms, 0 AS sharers, 0 AS waiters;
END//
