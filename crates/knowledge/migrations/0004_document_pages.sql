-- For listings page by page, and for counts by status.
CREATE INDEX documents_by_time ON documents (user_id, uploaded_at, id);
CREATE INDEX documents_by_status ON documents (user_id, status, uploaded_at, id);
