
-- ---- A name ----------------------------------------------------------------

-- Lock the row of a name in a statement of its own, then read the clock and all
-- that is committed by then. Without a lock for verbs that write nothing. What
-- has expired is left out. A new row has until = 0.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.open_name */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.open_name(
    IN lock_name VARBINARY(1280), IN to_write BOOLEAN, OUT us BIGINT,
    OUT owner VARBINARY(600), OUT until BIGINT, OUT terms INT,
    OUT counter BIGINT, OUT last VARBINARY(600), OUT kept_until BIGINT,
    OUT sharers INT)
    SQL SECURITY INVOKER
BEGIN
    DECLARE is_absent BOOLEAN DEFAULT FALSE;
    DECLARE found INT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_absent = TRUE;
    IF to_write THEN
        SELECT 1 INTO found FROM holdfast.lock l WHERE l.name = lock_name
            FOR UPDATE;
        IF is_absent THEN
            SET is_absent = FALSE;
            -- The second of two sessions waits here for an exclusive lock.
            -- INSERT IGNORE has a shared one: two of these deadlock later.
            INSERT INTO holdfast.lock (name) VALUES (lock_name)
                ON DUPLICATE KEY UPDATE name = lock_name;
        END IF;
    END IF;
    SELECT l.owner, l.until, l.terms, l.counter, l.last, l.kept_until
        INTO owner, until, terms, counter, last, kept_until
        FROM holdfast.lock l WHERE l.name = lock_name;
    IF is_absent THEN
        SET owner = NULL, until = 0, terms = -1, counter = 0, last = NULL,
            kept_until = 0;
    END IF;
    SET us = holdfast.clock(), sharers = 0;
    IF owner IS NOT NULL AND terms >= 0 THEN
        SELECT COUNT(*) INTO sharers FROM holdfast.sharer h
            WHERE h.name = lock_name AND h.until > us DIV 1000;
    END IF;
    IF until < us DIV 1000 OR (terms >= 0 AND sharers = 0) THEN
        SET owner = NULL, sharers = 0;
    END IF;
    IF owner IS NULL THEN
        SET terms = -1;
    END IF;
    IF kept_until < us DIV 1000 THEN
        SET counter = 0, last = NULL, kept_until = 0;
    END IF;
END//

/*!80000 DROP PROCEDURE IF EXISTS holdfast.store_name */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.store_name(
    IN lock_name VARBINARY(1280), IN owner VARBINARY(600), IN until BIGINT,
    IN terms INT, IN counter BIGINT, IN last VARBINARY(600),
    IN kept_until BIGINT)
    SQL SECURITY INVOKER
BEGIN
    UPDATE holdfast.lock l
        SET l.owner = owner, l.until = until, l.terms = terms,
            l.counter = counter, l.last = last, l.kept_until = kept_until
        WHERE l.name = lock_name;
END//

-- fence_keep counts from the clock's passing of the counter.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.write_counter */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.write_counter(
    IN us BIGINT, IN keep_ms BIGINT, IN v BIGINT, IN who VARBINARY(600),
    INOUT counter BIGINT, INOUT last VARBINARY(600), INOUT kept_until BIGINT)
    SQL SECURITY INVOKER
BEGIN
    SET counter = v, last = who, kept_until = us DIV 1000 + keep_ms
        + GREATEST((v - us + 999) DIV 1000, 0);
END//
