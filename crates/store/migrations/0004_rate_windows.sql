CREATE TABLE rate_windows (
    key TEXT PRIMARY KEY,
    hits BIGINT NOT NULL,
    resets_at BIGINT NOT NULL
);
CREATE INDEX rate_windows_resets_at ON rate_windows (resets_at);
