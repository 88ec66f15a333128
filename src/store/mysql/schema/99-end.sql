
INSERT INTO holdfast.version (is_only, version) VALUES (1, 1)
    ON DUPLICATE KEY UPDATE version = 1//
DROP PROCEDURE IF EXISTS holdfast.install_check//
DO RELEASE_LOCK('holdfast.install')//

DELIMITER ;
