
-- ---- CONFIRM ---------------------------------------------------------------

-- If the name is the caller's, raise its counter to `fence`, T, and refresh its
-- lease. A T below the floor is refused, or a server that lost its data would
-- agree to a value that another owner's majority has. One above the bound is
-- refused, or one wrong clock could use up the name's fences.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.confirm */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.confirm(
    IN lock_name VARBINARY(1281), IN caller VARBINARY(600), IN ttl_ms BIGINT,
    IN fence BIGINT, IN marker VARBINARY(1024), IN keep_ms BIGINT,
    IN holder BOOLEAN, IN mode VARBINARY(8))
BEGIN
    DECLARE is_marker, is_admitted, can_raise BOOLEAN DEFAULT FALSE;
    DECLARE own, most BIGINT;
    DECLARE floor, bound BIGINT DEFAULT 0;
    DECLARE verdict INT DEFAULT 0;
    DECLARE us, counter, kept_until, until BIGINT;
    DECLARE owner, last VARBINARY(600);
    DECLARE terms, sharers INT;
    DECLARE patience BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    CALL holdfast.check_verb(lock_name, caller, ttl_ms, 0, keep_ms);
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
            -- Rule: marker-not-compared.
            CALL holdfast.compare_marker(marker, is_marker);
            IF NOT is_marker THEN
                SET verdict = -1;
                LEAVE rules;
            END IF;
            CALL holdfast.open_name(lock_name, TRUE, us, owner, until, terms,
                counter, last, kept_until, sharers);
            SET floor = us - us % 4194304, most = LEAST(
                GREATEST(counter, us) + 4294967296, 9007199254740991);
            -- Rules: raise-below-floor, bound-is-unknown.
            SET can_raise = counter < fence AND fence BETWEEN floor AND most;
            CALL holdfast.vote(lock_name, us DIV 1000, caller, owner, counter,
                sharers, own);
            CALL holdfast.admit(mode, owner, terms, sharers, is_admitted);
            IF own IS NOT NULL THEN
                SET verdict = 1;
                CALL holdfast.stay(lock_name, us DIV 1000, caller, ttl_ms,
                    sharers, until);
                IF can_raise THEN
                    -- Rule: reader-raise-leaves-c.
                    CALL holdfast.write_counter(us, keep_ms, fence, owner,
                        counter, last, kept_until);
                ELSEIF kept_until > 0 THEN
                    SET kept_until = us DIV 1000 + keep_ms + GREATEST(0,
                        (GREATEST(counter, IF(fence <= most, fence, 0)) - us
                            + 999) DIV 1000);
                END IF;
                -- Rule: raise-below-floor.
                IF own < fence AND fence BETWEEN floor AND most THEN
                    UPDATE holdfast.sharer h SET h.counter = fence
                        WHERE h.name = lock_name AND h.owner = caller
                            AND sharers > 0;
                    SET own = fence;
                END IF;
                IF fence > most THEN
                    SET bound = most, floor = 0;
                ELSEIF own >= fence THEN
                    SET floor = 0;
                END IF;
            -- Rules: raise-takes-free, takeback-without-last.
            ELSEIF holder AND is_admitted AND (can_raise OR (counter = fence
                AND kept_until > 0 AND last = caller)) THEN
                SET verdict = 1, own = fence, floor = 0;
                CALL holdfast.install(lock_name, us, keep_ms, caller, mode,
                    ttl_ms, fence, owner, until, terms, counter, last,
                    kept_until, sharers);
            ELSE
                IF NOT is_admitted OR counter >= fence OR fence >= floor THEN
                    SET floor = 0;
                END IF;
                LEAVE rules;
            END IF;
            CALL holdfast.store_name(lock_name, owner, until, terms, counter,
                last, kept_until);
        END rules;
        COMMIT;
        SET SESSION innodb_lock_wait_timeout = patience;
    END;
    -- Rule: naive-raise.
    SELECT verdict, COALESCE(own, counter) AS counter,
        IF(owner IS NULL, -2, until - us DIV 1000) AS left_ms,
        COALESCE(owner, '') AS owner, floor, bound, 0 AS ticket, 0 AS ahead,
        0 AS node_us, GREATEST(terms, 0) AS terms, sharers, 0 AS waiters;
END//
