-- grant_id: what the gateway tokens of the session rely on (`token_grants` of the store); empty before the first one.
-- created_at and last_used_at are 0, address and browser empty, where an earlier version has made the session.
ALTER TABLE sessions ADD COLUMN grant_id TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN created_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN last_used_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN browser TEXT NOT NULL DEFAULT '';
