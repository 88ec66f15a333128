
-- ---- Holders ---------------------------------------------------------------

-- A name admits a mode if it is free, or shared on the same terms.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.admit */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.admit(
    IN mode VARBINARY(8), IN owner VARBINARY(600), IN terms INT,
    IN sharers INT, OUT is_admitted BOOLEAN)
    SQL SECURITY INVOKER
BEGIN
    SET is_admitted = owner IS NULL
        OR (sharers > 0 AND mode = CONCAT('s', terms));
END//

-- The counter at which `who` has the name; NULL if it does not.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.vote */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.vote(
    IN lock_name VARBINARY(1280), IN now BIGINT, IN who VARBINARY(600),
    IN owner VARBINARY(600), IN counter BIGINT, IN sharers INT, OUT own BIGINT)
    SQL SECURITY INVOKER
BEGIN
    IF sharers = 0 THEN
        SET own = IF(owner = who, counter, NULL);
    ELSE
        SELECT MAX(h.counter) INTO own FROM holdfast.sharer h
            WHERE h.name = lock_name AND h.owner = who AND h.until > now;
    END IF;
END//

-- Nothing makes a lease shorter. Rule: shortened-expiry.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.stay */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.stay(
    IN lock_name VARBINARY(1280), IN now BIGINT, IN who VARBINARY(600),
    IN ttl_ms BIGINT, IN sharers INT, INOUT until BIGINT)
    SQL SECURITY INVOKER
BEGIN
    IF sharers = 0 THEN
        SET until = GREATEST(until, now + ttl_ms);
    ELSE
        UPDATE holdfast.sharer h SET h.until = now + ttl_ms
            WHERE h.name = lock_name AND h.owner = who
                AND h.until < now + ttl_ms;
        SELECT MAX(h.until) INTO until FROM holdfast.sharer h
            WHERE h.name = lock_name;
    END IF;
END//

/*!80000 DROP PROCEDURE IF EXISTS holdfast.clear */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.clear(
    IN lock_name VARBINARY(1280), INOUT owner VARBINARY(600), INOUT terms INT,
    INOUT sharers INT)
    SQL SECURITY INVOKER
BEGIN
    IF terms >= 0 THEN
        DELETE h FROM holdfast.sharer AS h FORCE INDEX (PRIMARY)
            WHERE h.name = lock_name;
    END IF;
    SET owner = NULL, terms = -1, sharers = 0;
END//

-- End the hold of `who`, an owner or a sharer.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.part */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.part(
    IN lock_name VARBINARY(1280), IN who VARBINARY(600),
    INOUT owner VARBINARY(600), INOUT until BIGINT, INOUT terms INT,
    INOUT sharers INT)
    SQL SECURITY INVOKER
BEGIN
    IF sharers < 2 THEN
        CALL holdfast.clear(lock_name, owner, terms, sharers);
    ELSE
        DELETE FROM holdfast.sharer
            WHERE sharer.name = lock_name AND sharer.owner = who;
        SET sharers = sharers - 1;
        SELECT MAX(h.until) INTO until FROM holdfast.sharer h
            WHERE h.name = lock_name;
    END IF;
END//

-- Make `who` an owner at counter v, above the present one. The caller has
-- checked that the name admits the mode. Its place in the queue ends.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.install */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.install(
    IN lock_name VARBINARY(1280), IN us BIGINT, IN keep_ms BIGINT,
    IN who VARBINARY(600), IN mode VARBINARY(8), IN ttl_ms BIGINT, IN v BIGINT,
    INOUT owner VARBINARY(600), INOUT until BIGINT, INOUT terms INT,
    INOUT counter BIGINT, INOUT last VARBINARY(600), INOUT kept_until BIGINT,
    INOUT sharers INT)
    SQL SECURITY INVOKER
BEGIN
    DECLARE now BIGINT DEFAULT us DIV 1000;
    IF mode = 'x' THEN
        SET owner = who, until = now + ttl_ms, terms = -1, sharers = 0;
    ELSE
        DELETE h FROM holdfast.sharer AS h FORCE INDEX (PRIMARY)
            WHERE h.name = lock_name AND (sharers = 0 OR h.until <= now);
        IF sharers = 0 THEN
            SET terms = CAST(SUBSTR(mode, 2) AS SIGNED);
            SET owner = CONCAT('shared:', terms, '-', v);
        END IF;
        INSERT INTO holdfast.sharer (name, owner, until, counter)
            VALUES (lock_name, who, now + ttl_ms, v)
            ON DUPLICATE KEY UPDATE until = now + ttl_ms, counter = v;
        SET sharers = sharers + 1;
        SELECT MAX(h.until) INTO until FROM holdfast.sharer h
            WHERE h.name = lock_name;
    END IF;
    -- Rule: reader-keeps-counter.
    CALL holdfast.write_counter(us, keep_ms, v, owner, counter, last,
        kept_until);
    DELETE w FROM holdfast.waiter AS w FORCE INDEX (PRIMARY)
        WHERE w.name = lock_name AND (w.owner = who OR w.until <= now);
END//
