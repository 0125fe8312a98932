-- removed: the user is gone for everybody, and its documents are being deleted in portions. A document that is too
-- large to be deleted at once is given to such a user first.
ALTER TABLE users ADD COLUMN removed BIGINT NOT NULL DEFAULT 0;
