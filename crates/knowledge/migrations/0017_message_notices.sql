-- notices: what was not read for an answer, as a JSON array of sentences.
ALTER TABLE messages ADD COLUMN notices TEXT NOT NULL DEFAULT '[]';
