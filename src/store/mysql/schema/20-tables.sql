
-- ---- Tables ----------------------------------------------------------------

-- Names are bytes: no collation takes two of them for one. Times are in ms of
-- holdfast.clock().
--   owner      NULL: free; "ended:" and an owner: reserved after a release; of
--              a group "shared:<terms>-<counter at which it began>"
--   until      end of the lease, of a group that of the longest sharer; a lease
--              is live in this ms, a sharer or a place is not
--   terms      -1: exclusive; 0: readers; N: a semaphore of N permits
--   last       owner of the counter, NULL: none; counter and last are void
--              after kept_until
CREATE TABLE IF NOT EXISTS holdfast.lock (
    name VARBINARY(1280) NOT NULL PRIMARY KEY,
    owner VARBINARY(600),
    until BIGINT NOT NULL DEFAULT 0,
    terms INT NOT NULL DEFAULT -1,
    counter BIGINT NOT NULL DEFAULT 0,
    last VARBINARY(600),
    kept_until BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC//

CREATE TABLE IF NOT EXISTS holdfast.sharer (
    name VARBINARY(1280) NOT NULL,
    owner VARBINARY(600) NOT NULL,
    until BIGINT NOT NULL,
    counter BIGINT NOT NULL,
    PRIMARY KEY (name, owner)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC//

CREATE TABLE IF NOT EXISTS holdfast.waiter (
    name VARBINARY(1280) NOT NULL,
    owner VARBINARY(600) NOT NULL,
    ticket BIGINT NOT NULL,
    until BIGINT NOT NULL,
    mode VARBINARY(8) NOT NULL,
    PRIMARY KEY (name, owner),
    KEY waiter_order (name, ticket, owner)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC//

-- Marks of --once. Owner '': a tombstone.
CREATE TABLE IF NOT EXISTS holdfast.once (
    name VARBINARY(1280) NOT NULL PRIMARY KEY,
    fence BIGINT NOT NULL,
    owner VARBINARY(600) NOT NULL,
    until BIGINT NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC//

-- The marker of this server (core/quarantine.h), as hf:node in Redis. Field "v"
-- has the value, and the id of the server on which it was written.
CREATE TABLE IF NOT EXISTS holdfast.node (
    field VARBINARY(255) NOT NULL PRIMARY KEY,
    content VARBINARY(1024) NOT NULL,
    server_id BIGINT
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC//

-- Versioned values. Data NULL: deleted; its version is kept until then.
CREATE TABLE IF NOT EXISTS holdfast.value (
    name VARBINARY(1280) NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL,
    id VARBINARY(64) NOT NULL,
    data MEDIUMBLOB,
    until BIGINT
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC//

-- The name at which the next verb that makes a row goes on to sweep.
CREATE TABLE IF NOT EXISTS holdfast.sweeper (
    is_only TINYINT NOT NULL PRIMARY KEY,
    after VARBINARY(1280) NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC//
INSERT IGNORE INTO holdfast.sweeper (is_only, after) VALUES (1, '')//

-- In memory: a restart of the server empties it, and so shows itself.
CREATE TABLE IF NOT EXISTS holdfast.run (
    is_only TINYINT NOT NULL PRIMARY KEY,
    id CHAR(32) CHARACTER SET ascii NOT NULL
) ENGINE = MEMORY//
