-- is_space: the row is a space, which owns documents as a user does and cannot sign in.
ALTER TABLE users ADD COLUMN is_space BIGINT NOT NULL DEFAULT 0;

-- everyone: the role of all users in the space; empty if only its members have one.
CREATE TABLE spaces (
    id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    everyone TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE space_members (
    space_id TEXT NOT NULL REFERENCES spaces (id) ON DELETE CASCADE,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    added_at BIGINT NOT NULL,
    PRIMARY KEY (space_id, user_id)
);
CREATE INDEX space_members_by_user ON space_members (user_id);

-- added_by: the user who added a document of a space; empty for documents of users.
ALTER TABLE documents ADD COLUMN added_by TEXT NOT NULL DEFAULT '';

-- space_ids: the spaces that a question is about, as a JSON array of ids; empty for all.
ALTER TABLE messages ADD COLUMN space_ids TEXT NOT NULL DEFAULT '[]';
