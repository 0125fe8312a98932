-- Places that documents come from. settings: as JSON, without the secret, which is encrypted in `secret`; empty if there is
-- none. every: seconds between the end of a run and the next; 0 if it runs only when asked to. job_id: the job of the run
-- that is waiting or at work; NULL if it is paused or runs only when asked to. run: the number of the last run that has
-- begun; run_job: its job, which continues it after its process has died. The figures are of that run.
CREATE TABLE sources (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    name TEXT NOT NULL,
    settings TEXT NOT NULL,
    secret TEXT NOT NULL,
    every BIGINT NOT NULL,
    paused BIGINT NOT NULL DEFAULT 0,
    job_id BIGINT,
    next_run_at BIGINT,
    run BIGINT NOT NULL DEFAULT 0,
    run_job BIGINT,
    started_at BIGINT,
    ended_at BIGINT,
    error TEXT,
    failures BIGINT NOT NULL DEFAULT 0,
    added BIGINT NOT NULL DEFAULT 0,
    changed BIGINT NOT NULL DEFAULT 0,
    unchanged BIGINT NOT NULL DEFAULT 0,
    skipped BIGINT NOT NULL DEFAULT 0,
    failed BIGINT NOT NULL DEFAULT 0,
    removed BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX sources_of_owner ON sources (owner_id, created_at);

-- run: the last run that has seen the item. message: why it was skipped or could not be read.
CREATE TABLE source_items (
    source_id TEXT NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    version TEXT NOT NULL,
    state TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    document_id TEXT NOT NULL,
    status TEXT NOT NULL,
    message TEXT NOT NULL,
    run BIGINT NOT NULL,
    PRIMARY KEY (source_id, path)
);
CREATE INDEX source_items_by_run ON source_items (source_id, run);
CREATE INDEX source_items_by_status ON source_items (source_id, status, path);
CREATE INDEX source_items_by_document ON source_items (document_id);
CREATE INDEX documents_of_source ON documents (source_id) WHERE source_id <> '';
