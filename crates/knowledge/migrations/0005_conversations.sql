-- is_named: the title was given, and is not the first question. last_number: the number of the last message that was
-- ever added; numbers are not used again after messages were dropped.
CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    title TEXT NOT NULL,
    is_named BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    message_count BIGINT NOT NULL DEFAULT 0,
    last_number BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX conversations_of_user ON conversations (user_id, updated_at, id);

-- An answer is a message that is `running` until it ends. lease_until: if its process does not extend this in time, it
-- has died. search_text: the content in lower case, because SQLite has lower case for ASCII only.
CREATE TABLE messages (
    id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    role TEXT NOT NULL,
    content TEXT NOT NULL,
    search_text TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT,
    sources TEXT NOT NULL DEFAULT '[]',
    provider TEXT,
    model TEXT,
    agent_type TEXT,
    created_at BIGINT NOT NULL,
    lease_until BIGINT NOT NULL DEFAULT 0,
    stop_requested BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX messages_in_order ON messages (conversation_id, number);
-- A conversation has one answer that is being written at most.
CREATE UNIQUE INDEX messages_running ON messages (conversation_id) WHERE status = 'running';
CREATE INDEX messages_by_lease ON messages (lease_until) WHERE status = 'running';
