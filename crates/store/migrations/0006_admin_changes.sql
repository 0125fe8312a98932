-- The last change to each administrator, by the name in lower case. A pending change is not yet in the object store:
-- record is what has to be written there, or empty if the record has to be deleted.
-- Tokens without a generation that were issued up to not_before (milliseconds) are refused.
CREATE TABLE admin_changes (
    name TEXT PRIMARY KEY,
    record TEXT NOT NULL,
    is_removed BIGINT NOT NULL,
    is_pending BIGINT NOT NULL,
    not_before BIGINT NOT NULL
);
