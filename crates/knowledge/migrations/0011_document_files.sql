-- Files of a document beside the current one: former ones, and the one that takes its place when it is indexed, which
-- has a higher version than the document.
CREATE TABLE document_files (
    document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    version BIGINT NOT NULL,
    object_key TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    size BIGINT NOT NULL,
    filename TEXT NOT NULL,
    media_type TEXT NOT NULL,
    uploaded_at BIGINT NOT NULL,
    metadata TEXT NOT NULL,
    added_by TEXT NOT NULL,
    PRIMARY KEY (document_id, version)
);
CREATE INDEX document_files_by_object ON document_files (object_key);
ALTER TABLE documents ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
CREATE INDEX documents_by_filename ON documents (user_id, filename);

-- source_id: the source that keeps the document up to date; empty if it was uploaded.
ALTER TABLE documents ADD COLUMN source_id TEXT NOT NULL DEFAULT '';

-- expires_at: when the document is removed, in milliseconds since 1970; NULL if never.
ALTER TABLE documents ADD COLUMN expires_at BIGINT;
CREATE INDEX documents_by_expiry ON documents (expires_at) WHERE expires_at IS NOT NULL;

-- quota: bytes that the files of a user or a space may have; NULL if the setting counts.
ALTER TABLE users ADD COLUMN quota BIGINT;
