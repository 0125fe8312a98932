-- Calls of models that have ended. user_id: the id of a user, or `guests`, or `local`. project_id, space_id: empty if it counts
-- to none. connection: the id of one, or the name of a provider of the settings. cost: in millionths of the currency, by the
-- prices of that moment.
CREATE TABLE model_calls (
    id TEXT PRIMARY KEY,
    ended_at BIGINT NOT NULL,
    user_id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    project_id TEXT NOT NULL,
    space_id TEXT NOT NULL,
    connection TEXT NOT NULL,
    model TEXT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    milliseconds BIGINT NOT NULL,
    cost BIGINT NOT NULL
);

CREATE INDEX model_calls_by_time ON model_calls (ended_at, id);
CREATE INDEX model_calls_by_user ON model_calls (user_id, ended_at);
CREATE INDEX model_calls_by_project ON model_calls (project_id, ended_at);

-- What projects were called at their last call. The projects are the supervisor's.
CREATE TABLE called_projects (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL
);

-- The prices of models, and what may be used of them: each kind of settings as JSON.
CREATE TABLE usage_settings (
    kind TEXT PRIMARY KEY,
    settings TEXT NOT NULL
);
