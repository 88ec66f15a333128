SELECT 'triggers=' || coalesce(hex(group_concat(sql, ';')), '')
    FROM (SELECT sql FROM sqlite_master WHERE name IN (
        'holdfast_insert_@TABLE_TEXT@', 'holdfast_check_@TABLE_TEXT@',
        'holdfast_update_@TABLE_TEXT@', 'holdfast_delete_@TABLE_TEXT@',
        'holdfast_delete_by_@TABLE_TEXT@')
        ORDER BY type, name);
-- ALTER TABLE ... RENAME takes triggers along and keeps their names.
SELECT 'taken=' || coalesce((SELECT tbl_name FROM sqlite_master
    WHERE type = 'trigger' AND name IN ('holdfast_insert_@TABLE_TEXT@',
            'holdfast_check_@TABLE_TEXT@', 'holdfast_update_@TABLE_TEXT@',
            'holdfast_delete_@TABLE_TEXT@')
        AND tbl_name <> '@TABLE_TEXT@' COLLATE NOCASE LIMIT 1), '');
