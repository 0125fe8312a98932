-- files_of: the user in whose conversation the files of this owner are; empty for users and spaces.
ALTER TABLE users ADD COLUMN files_of TEXT NOT NULL DEFAULT '';
CREATE INDEX users_by_files_of ON users (files_of) WHERE files_of <> '';

-- files_owner: who owns the files that were put into the conversation; empty until there is one.
ALTER TABLE conversations ADD COLUMN files_owner TEXT NOT NULL DEFAULT '';

-- without_documents: whether a question is for the model alone.
ALTER TABLE messages ADD COLUMN without_documents BIGINT NOT NULL DEFAULT 0;
