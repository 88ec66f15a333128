
-- ---- BREAK -----------------------------------------------------------------

-- Take a name from its holder, or from all sharers. The breaker keeps it until
-- the holder's lease expires, or frees it at once. While it keeps the name, the
-- counter stays, so that the name can be returned: `back` is the owner then.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.break_lock */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.break_lock(
    IN lock_name VARBINARY(1281), IN caller VARBINARY(600), IN at_once BOOLEAN,
    IN marker VARBINARY(1024), IN keep_ms BIGINT, IN max_ttl_ms BIGINT,
    IN back VARBINARY(600))
BEGIN
    DECLARE is_marker, is_ended BOOLEAN DEFAULT FALSE;
    DECLARE next, left_ms BIGINT;
    DECLARE seen VARBINARY(600);
    DECLARE verdict, seen_terms, seen_sharers INT DEFAULT 1;
    DECLARE us, counter, kept_until, until BIGINT;
    DECLARE owner, last VARBINARY(600);
    DECLARE terms, sharers INT;
    DECLARE patience BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    CALL holdfast.check_verb(lock_name, caller, max_ttl_ms, 0, keep_ms);
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
            CALL holdfast.compare_marker(marker, is_marker);
            IF NOT is_marker THEN
                SET verdict = -1;
                LEAVE rules;
            END IF;
            CALL holdfast.open_name(lock_name, TRUE, us, owner, until, terms,
                counter, last, kept_until, sharers);
            SET next = GREATEST(counter + 1, us - us % 4194304),
                left_ms = IF(owner IS NULL, -2, until - us DIV 1000),
                seen = owner, seen_terms = terms, seen_sharers = sharers;
            CALL holdfast.check_counter(next);
            IF owner = caller THEN
                -- Rule: given-up-break-frees.
                IF back <> '' THEN
                    SET owner = back;
                END IF;
            ELSEIF back = '' THEN
                -- Entered before the clock was set back: no live waiter has
                -- such a place.
                DELETE w FROM holdfast.waiter AS w FORCE INDEX (PRIMARY)
                    WHERE w.name = lock_name
                        AND w.until > us DIV 1000 + max_ttl_ms;
                SET is_ended = COALESCE(LEFT(owner, 6) = 'ended:', FALSE);
                IF NOT is_ended AND left_ms > max_ttl_ms THEN
                    -- written before the clock was set back
                    SET left_ms = max_ttl_ms,
                        until = us DIV 1000 + max_ttl_ms;
                END IF;
                IF owner IS NOT NULL AND NOT at_once AND NOT is_ended THEN
                    IF sharers > 0 THEN
                        CALL holdfast.clear(lock_name, owner, terms, sharers);
                        CALL holdfast.write_counter(us, keep_ms, next, caller,
                            counter, last, kept_until);
                    END IF;
                    SET owner = caller;
                ELSE
                    CALL holdfast.clear(lock_name, owner, terms, sharers);
                    CALL holdfast.write_counter(us, keep_ms, next, NULL,
                        counter, last, kept_until);
                END IF;
            END IF;
            CALL holdfast.store_name(lock_name, owner, until, terms, counter,
                last, kept_until);
        END rules;
        COMMIT;
        SET SESSION innodb_lock_wait_timeout = patience;
    END;
    SELECT verdict, next AS counter, left_ms, COALESCE(seen, '') AS owner,
        0 AS floor, 0 AS bound, 0 AS ticket, 0 AS ahead, 0 AS node_us,
        GREATEST(seen_terms, 0) AS terms, seen_sharers AS sharers, 0 AS waiters;
END//
