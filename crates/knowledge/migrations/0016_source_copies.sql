-- What a copy of a repository takes in the data folder, which counts towards the quota of the owner.
ALTER TABLE sources ADD COLUMN copy_bytes BIGINT NOT NULL DEFAULT 0;
