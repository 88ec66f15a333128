
-- ---- Waiters ---------------------------------------------------------------

-- Enqueue `who`, or renew its place, which keeps its ticket. (ROW_COUNT() of an
-- UPDATE does not count rows that stay the same.)
/*!80000 DROP PROCEDURE IF EXISTS holdfast.enter */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.enter(
    IN lock_name VARBINARY(1280), IN now BIGINT, IN who VARBINARY(600),
    IN mode VARBINARY(8), IN place_ms BIGINT, IN ticket BIGINT)
    SQL SECURITY INVOKER
BEGIN
    INSERT INTO holdfast.waiter (name, owner, ticket, until, mode)
        VALUES (lock_name, who, ticket, now + place_ms, mode)
        ON DUPLICATE KEY UPDATE
            ticket = IF(waiter.until > now, waiter.ticket, ticket),
            until = now + place_ms, mode = mode;
END//

-- The first live waiter; NULL if there is none. A waiter that is gone is not
-- served: its place ends.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.head */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.head(
    IN lock_name VARBINARY(1280), IN now BIGINT, OUT first VARBINARY(600),
    OUT first_mode VARBINARY(8))
    SQL SECURITY INVOKER
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET first = NULL;
    -- Rules: queue-order-reversed, dead-waiter-not-skipped.
    SELECT w.owner, w.mode INTO first, first_mode FROM holdfast.waiter w
        WHERE w.name = lock_name AND w.until > now
        ORDER BY w.ticket, w.owner LIMIT 1;
END//

/*!80000 DROP PROCEDURE IF EXISTS holdfast.count_before */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.count_before(
    IN lock_name VARBINARY(1280), IN now BIGINT, IN ticket BIGINT,
    IN who VARBINARY(600), OUT ahead BIGINT)
    SQL SECURITY INVOKER
BEGIN
    SELECT COUNT(*) INTO ahead FROM holdfast.waiter w
        WHERE w.name = lock_name AND w.until > now AND (w.ticket < ticket
            OR (w.ticket = ticket AND w.owner < who));
END//
