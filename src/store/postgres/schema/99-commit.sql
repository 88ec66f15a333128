
-- Default privileges may have taken it away.
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA holdfast TO PUBLIC;

COMMIT;
