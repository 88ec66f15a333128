-- After this, any fence of the name passes, one of a former holder too. Stop
-- all writers of the name first.
DELETE FROM holdfast.guard WHERE name = @NAME@;
