-- Links that administrators hand out, by the hash of their token. With a user_id, a link sets that user's password;
-- without, it is an invitation. A link that is used is deleted. It is worth nothing once created_by is no administrator.
CREATE TABLE account_links (
    token_hash TEXT PRIMARY KEY,
    user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX account_links_of_user ON account_links (user_id);
