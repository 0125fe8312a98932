-- What the indexes and graphs of users take in the memory of a process.
ALTER TABLE processes ADD COLUMN indexes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE processes ADD COLUMN index_bytes BIGINT NOT NULL DEFAULT 0;
