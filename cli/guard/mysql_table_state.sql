SET SESSION group_concat_max_len = 1073741824;
SELECT CONCAT('triggers=', COALESCE(SHA2(GROUP_CONCAT(t.trigger_schema, '.',
        t.event_object_table, '.', t.trigger_name, ':', t.action_statement
        ORDER BY t.trigger_schema, t.trigger_name), 256), ''))
    FROM information_schema.triggers t
    WHERE t.trigger_name LIKE 'holdfast\_%';
SELECT CONCAT('table_grant=GRANT SELECT, UPDATE, TRIGGER, LOCK TABLES ON `',
    REPLACE(COALESCE(@SCHEMA_TEXT@, 'DATABASE'), '`', '``'), '`.* TO ',
    QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@AT@', 1)), '@AT@',
    QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@AT@', -1)));
-- RENAME TABLE takes triggers along and keeps their names.
SELECT CONCAT('taken=', COALESCE((SELECT MIN(t.event_object_table)
    FROM information_schema.triggers t
    WHERE t.trigger_schema = @SCHEMA_TEXT@
        AND t.event_object_table <> '@TABLE_TEXT@'
        AND t.trigger_name IN ('holdfast_insert_@TABLE_TEXT@',
            'holdfast_inserted_@TABLE_TEXT@', 'holdfast_update_@TABLE_TEXT@',
            'holdfast_updated_@TABLE_TEXT@', 'holdfast_delete_@TABLE_TEXT@')),
    ''));
