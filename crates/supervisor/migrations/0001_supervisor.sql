-- Ids are UUIDs that sort by the time of their making: the newest is the greatest.
CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    product_seed TEXT NOT NULL,
    current_phase TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- first_event, last_event: its part of the project's event stream. A run without a last event is open.
-- signal: what somebody has asked of an open run. caller: on whose behalf its agents search.
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    phase TEXT NOT NULL,
    status TEXT NOT NULL,
    signal TEXT,
    reason TEXT NOT NULL DEFAULT '',
    caller TEXT,
    job_id BIGINT,
    first_event BIGINT NOT NULL,
    last_event BIGINT,
    created_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX runs_of_project ON runs (project_id, first_event);
CREATE UNIQUE INDEX runs_open ON runs (project_id) WHERE last_event IS NULL;

CREATE TABLE artifacts (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    run_id TEXT NOT NULL,
    phase TEXT NOT NULL,
    agent TEXT NOT NULL,
    type TEXT NOT NULL,
    content TEXT NOT NULL,
    version BIGINT NOT NULL,
    superseded BIGINT NOT NULL,
    edited_by TEXT,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX artifacts_of_project ON artifacts (project_id, phase, agent, version);

CREATE TABLE traces (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    run_id TEXT NOT NULL,
    phase TEXT NOT NULL,
    agent TEXT NOT NULL,
    status TEXT NOT NULL,
    progress BIGINT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    input_tokens BIGINT,
    output_tokens BIGINT,
    error TEXT,
    started_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX traces_of_project ON traces (project_id, id);
CREATE INDEX traces_running ON traces (run_id) WHERE status = 'running';

-- Where a run stands is the last checkpoint of each of its agents. One that is `waiting` is an approval, and its id
-- the approval's.
CREATE TABLE checkpoints (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    run_id TEXT NOT NULL,
    phase TEXT NOT NULL,
    agent TEXT,
    step BIGINT NOT NULL,
    status TEXT NOT NULL,
    artifact_id TEXT,
    feedback TEXT,
    decided_by TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX checkpoints_of_project ON checkpoints (project_id, id);
CREATE INDEX checkpoints_of_run ON checkpoints (run_id, id);

CREATE TABLE logs (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    level TEXT NOT NULL,
    message TEXT NOT NULL,
    agent TEXT,
    phase TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX logs_of_project ON logs (project_id, id);
