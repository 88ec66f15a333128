-- What is installed: lines of NAME=VALUE for holdfast guard --install.
SET NAMES utf8mb4;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION';
SELECT CONCAT('version=', COALESCE((
    SELECT SUBSTRING_INDEX(SUBSTRING_INDEX(r.routine_comment, ',', 1), ' ', -1)
        FROM information_schema.routines r
        WHERE r.routine_schema = 'holdfast'
            AND r.routine_name = 'guard_version'), (
    SELECT '0' FROM information_schema.tables t
        WHERE t.table_schema = 'holdfast' AND t.table_name = 'guard'), ''));
SELECT CONCAT('whole=', COUNT(*) = 10
        AND EXISTS (SELECT 1 FROM information_schema.tables t
            WHERE t.table_schema = 'holdfast' AND t.table_name = 'guard')
        AND NOT EXISTS (SELECT 1 FROM information_schema.routines v
            WHERE v.routine_schema = 'holdfast'
                AND v.routine_name = 'guard_version'
                AND v.routine_comment LIKE '%incomplete'))
    FROM information_schema.routines r
    WHERE r.routine_schema = 'holdfast' AND r.routine_name IN ('guard_check',
        'guard_shown', 'guard_present', 'fence', 'guard_presented',
        'guard_given', 'guard_stored', 'guard_remember', 'guard_table');
SELECT CONCAT('grant=GRANT ALL ON holdfast.* TO ',
    QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', 1)), '@',
    QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)));
-- The guard's row is locked on one node.
SELECT CONCAT('note=', IF(0
        /*M! OR EXISTS (SELECT 1 FROM information_schema.global_variables v
            WHERE v.variable_name = 'WSREP_ON' AND v.variable_value = 'ON') */
        /*!80000 OR EXISTS (SELECT 1 FROM performance_schema.global_variables v
            WHERE v.variable_name = 'group_replication_group_name'
                AND v.variable_value <> '') */,
    'in a cluster it refuses only among the writers of one node: '
        'let all writers of a guarded table use the same node',
    ''));
