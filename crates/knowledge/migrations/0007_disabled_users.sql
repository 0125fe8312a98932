-- disabled: the user cannot sign in, and has no sessions. The documents stay.
ALTER TABLE users ADD COLUMN disabled BIGINT NOT NULL DEFAULT 0;
