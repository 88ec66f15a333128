-- What is installed: lines of NAME=VALUE for holdfast guard --install.
SELECT 'version=' || coalesce((
    SELECT CAST(substr(sql, instr(sql, ' AS SELECT ') + 11) AS INTEGER)
        FROM sqlite_master
        WHERE type = 'view' AND name = 'holdfast_guard_version'), (
    SELECT 0 FROM sqlite_master
        WHERE type = 'table' AND name = 'holdfast_guard'), '');
SELECT 'whole=' || (count(*) = 5) FROM sqlite_master
    WHERE type || ' ' || name IN ('table holdfast_guard', 'view holdfast_fence',
        'trigger holdfast_fence', 'view holdfast_stale',
        'trigger holdfast_stale');
-- Of 3.53.4, the 53.4.
SELECT 'newer=' || (CAST(substr(sqlite_version(),
    instr(sqlite_version(), '.') + 1) AS REAL) >= 47);
SELECT 'note=errors have both fences; SQLite before 3.47 cannot open this file'
    FROM sqlite_master WHERE type = 'trigger' AND name = 'holdfast_stale'
        AND instr(sql, 'NEW.seen') > 0;
