-- The whole text of a document, which the starts of its chunks count in. outline: where pages and headings begin, as
-- JSON. Documents that were indexed before this table have no row until their text is asked for.
CREATE TABLE texts (
    document_id TEXT PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
    text TEXT NOT NULL,
    is_cut BIGINT NOT NULL,
    outline TEXT NOT NULL
);

-- The value of Content-Type, by the first bytes of the file; empty for documents that were uploaded before.
ALTER TABLE documents ADD COLUMN media_type TEXT NOT NULL DEFAULT '';

-- For listings by title and by size.
CREATE INDEX documents_by_title ON documents (user_id, lower(title), id);
CREATE INDEX documents_by_size ON documents (user_id, size, id);
