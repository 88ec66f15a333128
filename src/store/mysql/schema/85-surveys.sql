
-- ---- Surveys of doctor -----------------------------------------------------

-- Locks that are held, names that are waited for, and the first ones held: at
-- least one row.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.look */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.look(IN most INT)
BEGIN
    DECLARE now BIGINT DEFAULT holdfast.clock() DIV 1000;
    SELECT s.held, s.waited, f.name
        FROM (SELECT (SELECT COUNT(*) FROM holdfast.lock l
                    WHERE l.until >= now AND (l.terms < 0 OR l.until > now)
                        AND LEFT(l.owner, 6) <> 'ended:') AS held,
                (SELECT COUNT(DISTINCT w.name) FROM holdfast.waiter w
                    WHERE w.until > now) AS waited) AS s
        LEFT JOIN (SELECT l.name FROM holdfast.lock l
            WHERE l.until >= now AND (l.terms < 0 OR l.until > now)
                AND LEFT(l.owner, 6) <> 'ended:'
            ORDER BY l.name LIMIT most) AS f ON TRUE
        ORDER BY f.name;
END//

-- Count the counters that are further ahead than a node accepts; with a marker
-- set them back, at a node that has no vote. This is a declared data loss: no
-- completed fence is greater than the bound, which the caller has checked. A
-- lease longer than max_ttl_ms was written while the clock was ahead.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.ahead */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.ahead(
    IN marker VARBINARY(1024), IN keep_ms BIGINT, IN max_ttl_ms BIGINT)
BEGIN
    DECLARE is_marker BOOLEAN DEFAULT FALSE;
    DECLARE us, n BIGINT;
    DECLARE patience BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    CALL holdfast.check_verb('x', 'x', max_ttl_ms, 0, keep_ms);
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
            SET us = holdfast.clock();
            SELECT COUNT(*) INTO n FROM holdfast.lock l
                WHERE l.counter > us + 4294967296
                    AND l.kept_until >= us DIV 1000;
            IF marker = '' THEN
                LEAVE rules;
            END IF;
            CALL holdfast.compare_marker(marker, is_marker);
            IF NOT is_marker OR EXISTS (SELECT 1 FROM holdfast.node m
                    WHERE m.field = 'whole') THEN
                SET n = -1;
                LEAVE rules;
            END IF;
            UPDATE holdfast.lock l
                SET l.counter = us + 4294967296, l.last = NULL,
                    l.kept_until = us DIV 1000 + 4294968 + keep_ms
                WHERE l.counter > us + 4294967296
                    AND l.kept_until >= us DIV 1000;
            UPDATE holdfast.lock l
                SET l.owner = NULL, l.terms = -1, l.until = 0
                WHERE l.owner IS NOT NULL
                    AND l.until > us DIV 1000 + max_ttl_ms
                    AND LEFT(l.owner, 6) <> 'ended:';
            DELETE FROM holdfast.waiter;
        END rules;
        COMMIT;
        SET SESSION innodb_lock_wait_timeout = patience;
    END;
    SELECT n AS ahead;
END//
