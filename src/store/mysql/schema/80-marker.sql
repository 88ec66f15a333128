
-- ---- The marker, and this server -------------------------------------------

-- Write the marker if it has the expected value ('': none, '*': any). While the
-- value stays the same, hosts are only added and "whole" is only set; a new one
-- begins without both. Of more than 64 hosts a random one is removed. `facts`
-- is a JSON array of fields and contents in turns: '["max_ttl", "60000"]'.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.marker */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.marker(
    IN expected VARBINARY(1024), IN fresh VARBINARY(1024), IN whole BOOLEAN,
    IN host VARBINARY(255), IN seen_ms BIGINT,
    IN facts TEXT CHARACTER SET utf8mb4)
BEGIN
    DECLARE value, victim VARBINARY(1024);
    DECLARE verdict, i INT DEFAULT 0;
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
        rules: BEGIN
            SELECT 0 INTO i FROM holdfast.version v
                WHERE v.is_only = 1 FOR UPDATE; -- one at a time
            SELECT COALESCE(MAX(n.content), '') INTO value
                FROM holdfast.node n WHERE n.field = 'v';
            -- Rule: entry-not-compared.
            IF expected <> '*' AND value <> expected THEN
                LEAVE rules;
            END IF;
            -- Rule: entry-survives-restart.
            IF value <> fresh THEN
                DELETE FROM holdfast.node;
            END IF;
            INSERT INTO holdfast.node (field, content, server_id)
                VALUES ('v', fresh, @@GLOBAL.server_id)
                ON DUPLICATE KEY UPDATE content = fresh;
            WHILE i + 1 < JSON_LENGTH(facts) DO
                REPLACE INTO holdfast.node (field, content) VALUES (
                    JSON_UNQUOTE(JSON_EXTRACT(facts, CONCAT('$[', i, ']'))),
                    JSON_UNQUOTE(JSON_EXTRACT(facts,
                        CONCAT('$[', i + 1, ']'))));
                SET i = i + 2;
            END WHILE;
            IF whole THEN
                REPLACE INTO holdfast.node (field, content)
                    VALUES ('whole', '1');
                DELETE FROM holdfast.node WHERE LEFT(node.field, 3) = 'at:';
            ELSEIF host <> '' AND NOT EXISTS (SELECT 1 FROM holdfast.node n
                    WHERE n.field = host) THEN
                IF (SELECT COUNT(*) FROM holdfast.node n
                        WHERE LEFT(n.field, 3) = 'at:') > 63 THEN
                    SET victim = (SELECT n.field FROM holdfast.node n
                        WHERE LEFT(n.field, 3) = 'at:' ORDER BY RAND() LIMIT 1);
                    DELETE FROM holdfast.node WHERE node.field = victim;
                END IF;
                INSERT INTO holdfast.node (field, content)
                    VALUES (host, seen_ms);
            END IF;
            SET verdict = 1;
        END rules;
        COMMIT;
        SET SESSION innodb_lock_wait_timeout = patience;
    END;
    SELECT verdict;
END//

-- The fields of the marker, and of this server. "durable": commits are on disk
-- when they return. "statements": replicas execute statements anew, and differ.
-- "system": a digest of the server; "run": another one after each restart.
-- "engine": a table and its engine, if that is not the one it was made with: a
-- server may put another in its place (enforce_storage_engine), also when a
-- dump is restored.
/*!80000 DROP PROCEDURE IF EXISTS holdfast.facts */ //
CREATE /*M! OR REPLACE */ PROCEDURE holdfast.facts()
BEGIN
    IF @@GLOBAL.read_only IN ('0', 'OFF')
            AND NOT EXISTS (SELECT 1 FROM holdfast.run) THEN
        INSERT IGNORE INTO holdfast.run (is_only, id)
            VALUES (1, REPLACE(UUID(), '-', ''));
    END IF;
    SELECT n.field, n.content FROM holdfast.node n
    UNION ALL SELECT 'server:now_us', holdfast.clock()
    UNION ALL SELECT 'server:version', VERSION()
    UNION ALL SELECT 'server:schema', v.version FROM holdfast.version v
    UNION ALL SELECT 'server:recovery', @@GLOBAL.read_only NOT IN ('0', 'OFF')
    UNION ALL SELECT 'server:durable',
        @@GLOBAL.innodb_flush_log_at_trx_commit = 1
            AND @@GLOBAL.innodb_doublewrite NOT IN ('0', 'OFF', 'DETECT_ONLY')
            AND (@@GLOBAL.log_bin = 0 OR @@GLOBAL.sync_binlog = 1)
    UNION ALL SELECT 'server:statements',
        @@GLOBAL.log_bin = 1 AND @@GLOBAL.binlog_format = 'STATEMENT'
    UNION ALL SELECT 'server:engine', CONCAT(t.table_name, ' ', t.engine)
        FROM information_schema.tables t
        WHERE t.table_schema = 'holdfast'
            AND t.table_name IN ('version', 'lock', 'sharer', 'waiter', 'once',
                'node', 'value', 'sweeper', 'run')
            AND t.engine <> IF(t.table_name = 'run', 'MEMORY', 'InnoDB')
    UNION ALL SELECT 'server:system', LEFT(SHA2(CONCAT_WS('-',
        @@GLOBAL.server_id, @@GLOBAL.hostname, @@GLOBAL.port,
        @@GLOBAL.datadir /*!80000 , @@GLOBAL.server_uuid */), 256), 32)
    UNION ALL SELECT 'server:run', r.id FROM holdfast.run r
    UNION ALL SELECT 'server:pid', CONNECTION_ID();
END//
