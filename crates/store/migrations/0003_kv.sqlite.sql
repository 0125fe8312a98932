CREATE TABLE kv (
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    version BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (namespace, key)
);
-- One counter for all keys: a version never comes back, also not after a key was deleted and made again.
CREATE TABLE kv_last_version (version BIGINT NOT NULL);
INSERT INTO kv_last_version (version) VALUES (0);
