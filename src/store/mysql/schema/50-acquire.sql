
-- ---- ACQUIRE, YIELD --------------------------------------------------------

-- The frame of each verb that writes: it is the whole transaction, at READ
-- COMMITTED whatever the session has, and waits for a row for a second at most.
-- SET TRANSACTION refuses a caller that has begun one (25001). After an error
-- nothing is left, and the error is passed on. The answer comes after COMMIT.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.acquire */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.acquire(
    IN lock_name VARBINARY(1281), IN caller VARBINARY(600), IN ttl_ms BIGINT,
    IN hint BIGINT, IN marker VARBINARY(1024), IN keep_ms BIGINT,
    IN mode VARBINARY(8), IN overtake BOOLEAN, IN place_ms BIGINT,
    IN ticket BIGINT, IN returned BIGINT)
BEGIN
    DECLARE is_marker, is_admitted, is_far BOOLEAN DEFAULT FALSE;
    DECLARE own, next, stamp, ahead BIGINT;
    DECLARE first VARBINARY(600);
    DECLARE first_mode VARBINARY(8);
    DECLARE verdict INT DEFAULT 0;
    DECLARE us, counter, kept_until, until BIGINT;
    DECLARE owner, last VARBINARY(600);
    DECLARE terms, sharers INT;
    DECLARE patience BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    CALL holdfast.check_verb(lock_name, caller, ttl_ms, place_ms, keep_ms);
    IF CONVERT(mode USING latin1) NOT REGEXP '^(x|s[0-9]{1,5})$' THEN
        CALL holdfast.fail(CONCAT('holdfast: mode ', CONVERT(mode USING latin1),
            ', must be x, s0 or s and a number'));
    END IF;
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
            -- A plain try of a name that is held: read, and lock nothing.
            IF place_ms = 0 AND returned = 0 THEN
                CALL holdfast.open_name(lock_name, FALSE, us, owner, until,
                    terms, counter, last, kept_until, sharers);
                CALL holdfast.admit(mode, owner, terms, sharers, is_admitted);
                CALL holdfast.vote(lock_name, us DIV 1000, caller, owner,
                    counter, sharers, own);
                SELECT COUNT(*) INTO ahead FROM holdfast.waiter w
                    WHERE w.name = lock_name AND w.owner = caller;
                IF NOT is_admitted AND own IS NULL
                    AND (sharers = 0 OR ahead = 0) THEN
                    LEAVE rules;
                END IF;
            END IF;
            CALL holdfast.open_name(lock_name, TRUE, us, owner, until, terms,
                counter, last, kept_until, sharers);
            IF until = 0 THEN -- a new row
                CALL holdfast.sweep_some(lock_name, us DIV 1000);
            END IF;
            -- Rule: hint-refused.
            IF hint > GREATEST(counter, us) + 4294967296
                OR hint > 9007199254740991 THEN
                SET hint = 0; -- from a server whose clock is far ahead
            END IF;
            -- Rules: no-floor, floor-at-creation-only.
            SET next = GREATEST(counter + 1, hint, us - us % 4194304);
            CALL holdfast.check_counter(next);
            CALL holdfast.vote(lock_name, us DIV 1000, caller, owner, counter,
                sharers, own);
            -- Rule: yield-without-counter.
            IF returned > 0 AND own = returned THEN
                CALL holdfast.part(lock_name, caller, owner, until, terms,
                    sharers);
                SET own = NULL;
            END IF;
            IF own IS NOT NULL THEN
                -- Rule: no-refresh-on-retry.
                CALL holdfast.stay(lock_name, us DIV 1000, caller, ttl_ms,
                    sharers, until);
                IF own = 0 THEN -- its counter has expired
                    CALL holdfast.write_counter(us, keep_ms, next, caller,
                        counter, last, kept_until);
                    SET own = next;
                END IF;
            ELSE
                -- A try never overtakes a waiter. Rule: unfair-barge.
                CALL holdfast.head(lock_name, us DIV 1000, first, first_mode);
                CALL holdfast.admit(mode, owner, terms, sharers, is_admitted);
                IF is_admitted AND (returned = 0 OR place_ms = 0)
                    AND (first IS NULL OR first = caller OR overtake) THEN
                    SET own = next;
                ELSE
                    IF place_ms > 0 THEN
                        SET stamp = IF(ticket > 0, ticket, us);
                        CALL holdfast.enter(lock_name, us DIV 1000, caller,
                            mode, place_ms, stamp);
                        CALL holdfast.head(lock_name, us DIV 1000, first,
                            first_mode);
                    END IF;
                    -- The first waiter is granted what its place is for. Others
                    -- poll: there is no push.
                    CALL holdfast.admit(first_mode, owner, terms, sharers,
                        is_admitted);
                    IF is_admitted AND first = caller THEN
                        SET own = next, mode = first_mode;
                    END IF;
                END IF;
                IF own IS NOT NULL THEN
                    CALL holdfast.install(lock_name, us, keep_ms, caller, mode,
                        ttl_ms, own, owner, until, terms, counter, last,
                        kept_until, sharers);
                ELSEIF owner IS NULL AND returned > 0 THEN
                    CALL holdfast.write_counter(us, keep_ms, counter, NULL,
                        counter, last, kept_until);
                END IF;
            END IF;
            CALL holdfast.store_name(lock_name, owner, until, terms, counter,
                last, kept_until);
            IF own IS NOT NULL THEN
                SET verdict = 1;
                CALL holdfast.count_before(lock_name, us DIV 1000, ticket,
                    caller, ahead);
                SET ahead = ticket > 0 AND ahead > 0, ticket = 0,
                    is_far = own > us + 4294967296;
            ELSEIF place_ms > 0 THEN
                SET verdict = 2;
                SELECT w.ticket INTO ticket FROM holdfast.waiter w
                    WHERE w.name = lock_name AND w.owner = caller;
                CALL holdfast.count_before(lock_name, us DIV 1000, ticket,
                    caller, ahead);
            END IF;
        END rules;
        COMMIT;
        SET SESSION innodb_lock_wait_timeout = patience;
    END;
    IF verdict = 1 THEN
        SELECT 1 AS verdict, own AS counter, until - us DIV 1000 AS left_ms,
            caller AS owner, 0 AS floor, 0 AS bound, 0 AS ticket, ahead,
            IF(is_far, us, 0) AS node_us, 0 AS terms, 0 AS sharers,
            0 AS waiters;
    ELSE
        SELECT verdict, counter,
            IF(owner IS NULL, -2, until - us DIV 1000) AS left_ms,
            COALESCE(owner, '') AS owner, 0 AS floor, 0 AS bound,
            IF(verdict = 2, ticket, 0) AS ticket,
            IF(verdict = 2, ahead, 0) AS ahead,
            IF(verdict = 2, 0, us) AS node_us, GREATEST(terms, 0) AS terms,
            sharers, 0 AS waiters;
    END IF;
END//
