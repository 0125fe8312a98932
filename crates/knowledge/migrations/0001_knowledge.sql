-- revision counts every change to what a user has; removal is the revision of the last time a document went.
CREATE TABLE users (
    id TEXT PRIMARY KEY,
    username TEXT NOT NULL,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    is_admin BIGINT NOT NULL,
    goals TEXT NOT NULL,
    goals_summary TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_login BIGINT NOT NULL,
    revision BIGINT NOT NULL DEFAULT 0,
    removal BIGINT NOT NULL DEFAULT 0
);

-- A user's username and email address, each in lower case with a verifier of its own: the caller's digest is
-- made from whichever was typed.
CREATE TABLE login_names (
    name TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    verifier TEXT NOT NULL
);
CREATE INDEX login_names_of_user ON login_names (user_id);

CREATE TABLE sessions (
    token_hash TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- revision: of the last change that a listing shows; indexed_revision: of the last time its chunks changed.
-- job_id is the job that works on it now; encoder the fingerprint of the model that made the vectors.
CREATE TABLE documents (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    title TEXT NOT NULL,
    filename TEXT NOT NULL,
    object_key TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    size BIGINT NOT NULL,
    uploaded_at BIGINT NOT NULL,
    metadata TEXT NOT NULL,
    status TEXT NOT NULL,
    progress BIGINT NOT NULL,
    error TEXT,
    error_is_ours BIGINT NOT NULL DEFAULT 0,
    failures BIGINT NOT NULL DEFAULT 0,
    chunk_count BIGINT NOT NULL DEFAULT 0,
    graph_nodes BIGINT NOT NULL DEFAULT 0,
    encoder TEXT NOT NULL DEFAULT '',
    job_id BIGINT,
    revision BIGINT NOT NULL,
    indexed_revision BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX documents_of_user ON documents (user_id, revision);
CREATE INDEX documents_indexed ON documents (user_id, indexed_revision);
CREATE INDEX documents_in_work ON documents (user_id) WHERE status = 'processing';
CREATE INDEX documents_by_content ON documents (user_id, content_hash);

-- mentions: what the chunk names, as JSON; the evidence that the graph is made of.
CREATE TABLE chunks (
    document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    text TEXT NOT NULL,
    headings TEXT NOT NULL,
    page BIGINT,
    start BIGINT NOT NULL,
    vector BYTEA NOT NULL,
    mentions TEXT NOT NULL,
    PRIMARY KEY (document_id, position)
);
