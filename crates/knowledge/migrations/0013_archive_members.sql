-- archive_id: the archive that the file was in; empty for other documents.
ALTER TABLE documents ADD COLUMN archive_id TEXT NOT NULL DEFAULT '';
CREATE INDEX documents_of_archive ON documents (archive_id) WHERE archive_id <> '';
