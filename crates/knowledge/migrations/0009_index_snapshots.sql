-- The last snapshot of a user's index, and of the graph, in the object store; object_key is empty if there is none yet.
-- encoder: of the vectors in it; revision and removal: the user's, up to which changes are in it.
-- changed: about how many passages have changed since; job_id: the job that will write the next one.
CREATE TABLE index_snapshots (
    user_id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    object_key TEXT NOT NULL DEFAULT '',
    encoder TEXT NOT NULL DEFAULT '',
    passages BIGINT NOT NULL DEFAULT 0,
    revision BIGINT NOT NULL DEFAULT 0,
    removal BIGINT NOT NULL DEFAULT 0,
    graph_key TEXT NOT NULL DEFAULT '',
    graph_revision BIGINT NOT NULL DEFAULT 0,
    graph_removal BIGINT NOT NULL DEFAULT 0,
    changed BIGINT NOT NULL DEFAULT 0,
    job_id BIGINT
);
