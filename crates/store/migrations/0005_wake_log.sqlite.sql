-- What NOTIFY is on PostgreSQL: which topics a commit woke, for the other processes on this file.
CREATE TABLE wake_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    sender TEXT NOT NULL,
    topics TEXT NOT NULL
);
