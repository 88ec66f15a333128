-- What is installed: lines of NAME=VALUE for holdfast guard --install.
SELECT 'version=' || coalesce((
    SELECT CAST(substr(sql, instr(sql, ' AS SELECT ') + 11) AS INTEGER)
        FROM sqlite_master
        WHERE type = 'view' AND name = 'holdfast_guard_version'), (
    SELECT 0 FROM sqlite_master
        WHERE type = 'table' AND name = 'holdfast_guard'), '');
SELECT 'whole=' || (count(*) = 3) FROM sqlite_master
    WHERE type || ' ' || name IN ('table holdfast_guard', 'view holdfast_fence',
        'trigger holdfast_fence');
