
-- ---- RELEASE ---------------------------------------------------------------

-- Free a name that is the caller's, and leave its queue; align the counter of a
-- free name to `fence`. A fence out of bounds is ignored. The first waiter
-- finds the name free when it asks, and until then no other client gets it. The
-- marker is compared before "not yours", which a server that lost its data says
-- of each owner; '' is not. All else is done.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.release */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.release(
    IN lock_name VARBINARY(1281), IN caller VARBINARY(600), IN fence BIGINT,
    IN reserve_ms BIGINT, IN keep_ms BIGINT, IN marker VARBINARY(1024))
BEGIN
    DECLARE is_mine, is_last, was_mine, is_marker BOOLEAN DEFAULT FALSE;
    DECLARE own BIGINT;
    DECLARE us, counter, kept_until, until BIGINT;
    DECLARE owner, last VARBINARY(600);
    DECLARE terms, sharers INT;
    DECLARE patience BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    CALL holdfast.check_verb(lock_name, caller, reserve_ms, 0, keep_ms);
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
        CALL holdfast.open_name(lock_name, TRUE, us, owner, until, terms,
                counter, last, kept_until, sharers);
        CALL holdfast.vote(lock_name, us DIV 1000, caller, owner, counter,
            sharers, own);
        SET is_mine = COALESCE(owner = caller, FALSE);
        SET is_last = last IS NOT NULL AND (is_mine OR last = caller);
        SET was_mine = is_mine
            OR COALESCE(owner = CONCAT('ended:', caller), FALSE);
        IF is_mine AND reserve_ms > 0 THEN
            SET owner = CONCAT('ended:', caller),
                until = us DIV 1000 + reserve_ms;
        ELSEIF is_mine THEN
            SET owner = NULL;
        ELSEIF own IS NOT NULL THEN
            CALL holdfast.part(lock_name, caller, owner, until, terms, sharers);
            SET was_mine = TRUE;
        END IF;
        DELETE FROM holdfast.waiter
            WHERE waiter.name = lock_name AND waiter.owner = caller;
        IF is_mine OR owner IS NULL THEN
            IF fence > counter AND fence <= 9007199254740991
                AND fence <= GREATEST(counter, us) + 4294967296 THEN
                CALL holdfast.write_counter(us, keep_ms, fence, NULL, counter,
                    last, kept_until);
            ELSEIF is_last THEN
                SET last = NULL; -- or a late CONFIRM would acquire it again
            END IF;
        END IF;
        CALL holdfast.store_name(lock_name, owner, until, terms, counter, last,
            kept_until);
        IF NOT was_mine THEN
            CALL holdfast.compare_marker(marker, is_marker);
        END IF;
        COMMIT;
        SET SESSION innodb_lock_wait_timeout = patience;
    END;
    SELECT IF(was_mine, 1, IF(is_marker OR marker = '', 0, -1)) AS verdict,
        counter,
        IF(owner IS NULL, -2, until - us DIV 1000) AS left_ms,
        COALESCE(owner, '') AS owner, 0 AS floor, 0 AS bound, 0 AS ticket,
        0 AS ahead, 0 AS node_us, GREATEST(terms, 0) AS terms, sharers,
        0 AS waiters;
END//
