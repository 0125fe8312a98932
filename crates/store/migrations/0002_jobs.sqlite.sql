-- due_at: from when on a job may be taken. For a queued job that is when it should run, for a running one
-- the end of its lease. attempt rises with each claim and is the fencing token; released counts the claims
-- that were handed back unspent, so attempt - released is what max_attempts limits.
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    priority BIGINT NOT NULL,
    state TEXT NOT NULL,
    attempt BIGINT NOT NULL DEFAULT 0,
    released BIGINT NOT NULL DEFAULT 0,
    max_attempts BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    worker TEXT,
    cancel_requested BIGINT NOT NULL DEFAULT 0,
    error TEXT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT
);
CREATE INDEX jobs_open ON jobs (kind, priority DESC, id) WHERE state IN ('queued', 'running');
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
