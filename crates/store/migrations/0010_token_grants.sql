-- What gateway tokens of sessions rely on: a token whose grant is gone is refused.
CREATE TABLE token_grants (
    id TEXT PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX token_grants_by_end ON token_grants (expires_at);
