SELECT 'triggers=' || coalesce(hex(group_concat(sql, ';')), '')
    FROM (SELECT sql FROM sqlite_master WHERE name IN (
        'holdfast_insert_@TABLE_TEXT@', 'holdfast_check_@TABLE_TEXT@',
        'holdfast_update_@TABLE_TEXT@', 'holdfast_delete_@TABLE_TEXT@',
        'holdfast_delete_by_@TABLE_TEXT@')
        ORDER BY type, name);
