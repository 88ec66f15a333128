
-- ---- Sweeps by hand --------------------------------------------------------

-- Delete the idle ones among the next names; locked ones are passed over. The
-- answer is the name at which to go on, empty after the last.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.sweep */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.sweep(
    IN after VARBINARY(1280), IN most INT)
BEGIN
    DECLARE patience BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    CALL holdfast.check_call('x', 'x', 0);
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
        CALL holdfast.sweep_on(after, most, '', holdfast.clock() DIV 1000);
        COMMIT;
        SET SESSION innodb_lock_wait_timeout = patience;
    END;
    SELECT after;
END//
