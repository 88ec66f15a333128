
-- ---- What only reads -------------------------------------------------------

-- The answer of a name as of one snapshot: of the transaction that the caller
-- has begun. A free name with a mark of --once is shown as "ended:", with the
-- rest of the mark.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.show_name */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.show_name(
    IN lock_name VARBINARY(1280), OUT now BIGINT, OUT counter BIGINT,
    OUT left_ms BIGINT, OUT owner VARBINARY(600), OUT terms INT,
    OUT sharers INT, OUT waiters BIGINT)
    SQL SECURITY INVOKER
BEGIN
    DECLARE us, until, kept_until BIGINT;
    DECLARE last VARBINARY(600);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET owner = '';
    CALL holdfast.open_name(lock_name, FALSE, us, owner, until, terms, counter,
        last, kept_until, sharers);
    SET now = us DIV 1000, left_ms = IF(owner IS NULL, -2, until - us DIV 1000),
        terms = GREATEST(terms, 0);
    SELECT COUNT(*) INTO waiters FROM holdfast.waiter w
        WHERE w.name = lock_name AND w.until > now;
    IF owner IS NULL THEN
        SELECT o.until - now, CONCAT('ended:', o.owner) INTO left_ms, owner
            FROM holdfast.once o
            WHERE o.name = lock_name AND o.until >= now AND o.owner <> '';
    END IF;
END//

/*!80000 DROP PROCEDURE IF EXISTS holdfast.inspect */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.inspect(
    IN lock_name VARBINARY(1281))
BEGIN
    DECLARE now, counter, left_ms, waiters BIGINT;
    DECLARE owner VARBINARY(600);
    DECLARE terms, sharers INT;
    SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
    START TRANSACTION;
    CALL holdfast.show_name(lock_name, now, counter, left_ms, owner, terms,
        sharers, waiters);
    COMMIT;
    SELECT 1 AS verdict, counter, left_ms, owner, 0 AS floor, 0 AS bound,
        0 AS ticket, 0 AS ahead, 0 AS node_us, terms, sharers, waiters;
END//

-- First the sharers, in order of arrival; then the waiters, in order.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.list */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.list(
    IN lock_name VARBINARY(1281), IN most INT)
BEGIN
    DECLARE now, counter, left_ms, waiters BIGINT;
    DECLARE owner VARBINARY(600);
    DECLARE terms, sharers INT;
    SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
    START TRANSACTION;
    CALL holdfast.show_name(lock_name, now, counter, left_ms, owner, terms,
        sharers, waiters);
    SELECT 1 AS verdict, counter, left_ms, owner, 0 AS floor, 0 AS bound,
            0 AS ticket, 0 AS ahead, 0 AS node_us, terms, sharers, waiters,
            s.seat_owner, s.seat_left_ms, s.seat_ticket, s.seat_mode
        FROM (SELECT 1) AS always LEFT JOIN (
            (SELECT 0 AS is_waiter, h.counter AS place, h.owner AS seat_owner,
                h.until - now AS seat_left_ms, 0 AS seat_ticket,
                CONCAT('s', terms) AS seat_mode
                FROM holdfast.sharer h
                WHERE h.name = lock_name AND h.until > now AND sharers > 0
                ORDER BY h.counter, h.owner LIMIT most)
            UNION ALL
            (SELECT 1, w.ticket, w.owner, w.until - now, w.ticket, w.mode
                FROM holdfast.waiter w
                WHERE w.name = lock_name AND w.until > now
                ORDER BY w.ticket, w.owner LIMIT most)) AS s ON TRUE
        ORDER BY s.is_waiter, s.place, s.seat_owner;
    COMMIT;
END//

-- Names with a holder, a waiter or a mark, in byte order, above `after`.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.scan */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.scan(
    IN prefix VARBINARY(1281), IN after VARBINARY(1281), IN most INT)
BEGIN
    DECLARE now BIGINT DEFAULT holdfast.clock() DIV 1000;
    (SELECT l.name FROM holdfast.lock l
        WHERE l.name > after AND l.name >= prefix
            AND LEFT(l.name, LENGTH(prefix)) = prefix
            AND ((l.owner IS NOT NULL AND l.until >= now
                    AND (l.terms < 0 OR l.until > now))
                OR EXISTS (SELECT 1 FROM holdfast.waiter w
                    WHERE w.name = l.name AND w.until > now))
        ORDER BY l.name LIMIT most)
    UNION
    (SELECT o.name FROM holdfast.once o
        WHERE o.name > after AND o.name >= prefix
            AND LEFT(o.name, LENGTH(prefix)) = prefix
            AND o.owner <> '' AND o.until >= now
        ORDER BY o.name LIMIT most)
    ORDER BY name LIMIT most;
END//
