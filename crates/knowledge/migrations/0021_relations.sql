-- How a model says that the things in a document are connected, from what and to what: the ids of nodes of the graph. count: in
-- how many passages it says so.
CREATE TABLE relations (
    document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    source TEXT NOT NULL,
    verb TEXT NOT NULL,
    target TEXT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (document_id, source, verb, target)
);
