
-- ---- Idle names ------------------------------------------------------------

-- Delete the rows of a name that are over: its counter has expired and it has
-- no holder and no live waiter; its mark is over; its value is deleted, and the
-- version no longer kept. A row that another session has locked is passed over.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.drop_idle */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.drop_idle(
    IN idle VARBINARY(1280), IN now BIGINT)
    SQL SECURITY INVOKER
BEGIN
    DECLARE found BOOLEAN DEFAULT TRUE;
    DECLARE waiters INT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET found = FALSE;
    SELECT TRUE INTO found FROM holdfast.lock l
        WHERE l.name = idle AND l.kept_until < now AND l.until < now
        FOR UPDATE SKIP LOCKED;
    SELECT COUNT(*) INTO waiters FROM holdfast.waiter w
        WHERE w.name = idle AND w.until > now;
    IF found AND waiters = 0 THEN
        DELETE FROM holdfast.lock WHERE holdfast.lock.name = idle;
        DELETE w FROM holdfast.waiter AS w FORCE INDEX (PRIMARY)
            WHERE w.name = idle;
        DELETE h FROM holdfast.sharer AS h FORCE INDEX (PRIMARY)
            WHERE h.name = idle;
    END IF;
    SET found = TRUE;
    SELECT TRUE INTO found FROM holdfast.once o
        WHERE o.name = idle AND o.until < now FOR UPDATE SKIP LOCKED;
    IF found THEN
        DELETE FROM holdfast.once WHERE once.name = idle;
    END IF;
    SET found = TRUE;
    SELECT TRUE INTO found FROM holdfast.value v
        WHERE v.name = idle AND v.data IS NULL AND v.until < now
        FOR UPDATE SKIP LOCKED;
    IF found THEN
        DELETE FROM holdfast.value WHERE value.name = idle;
    END IF;
END//

-- Look at the next names after `after`, which is then the last of them, or ''
-- after the last of all.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.sweep_on */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.sweep_on(
    INOUT after VARBINARY(1280), IN most INT, IN except_name VARBINARY(1280),
    IN now BIGINT)
    SQL SECURITY INVOKER
BEGIN
    DECLARE next VARBINARY(1280);
    DECLARE i INT DEFAULT 0;
    step: WHILE i < most DO
        SELECT MIN(n.name) INTO next FROM (
            SELECT MIN(l.name) AS name FROM holdfast.lock l
                WHERE l.name > after
            UNION ALL SELECT MIN(o.name) FROM holdfast.once o
                WHERE o.name > after
            UNION ALL SELECT MIN(v.name) FROM holdfast.value v
                WHERE v.name > after) AS n;
        IF next IS NULL THEN
            SET after = '';
            LEAVE step;
        END IF;
        IF next <> except_name THEN
            CALL holdfast.drop_idle(next, now);
        END IF;
        SET after = next;
        SET i = i + 1;
    END WHILE;
END//

-- Each new row looks at four names, in turns: so few idle rows are left,
-- without a timer. One session at a time sweeps, others pass it over.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.sweep_some */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.sweep_some(
    IN except_name VARBINARY(1280), IN now BIGINT)
    SQL SECURITY INVOKER
BEGIN
    DECLARE place VARBINARY(1280);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET place = NULL;
    SELECT s.after INTO place FROM holdfast.sweeper s WHERE s.is_only = 1
        FOR UPDATE SKIP LOCKED;
    IF place IS NOT NULL THEN
        CALL holdfast.sweep_on(place, 4, except_name, now);
        UPDATE holdfast.sweeper s SET s.after = place WHERE s.is_only = 1;
    END IF;
END//
