-- document_ids: the documents that a question is about, as a JSON array of ids; empty for all documents.
ALTER TABLE messages ADD COLUMN document_ids TEXT NOT NULL DEFAULT '[]';
