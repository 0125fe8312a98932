-- Servers of models that administrators have added. name: what requests call it by; folded: the same in lower case. api_key:
-- encrypted; empty if there is none. models: as JSON, the one first that answers if a request names none.
CREATE TABLE connections (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    folded TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    base_url TEXT NOT NULL,
    api_key TEXT NOT NULL,
    models TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

-- Which model answers if a request names none. connection: the id of one, or the name of a provider of the settings. model:
-- empty for the first one of the connection.
CREATE TABLE model_defaults (
    purpose TEXT PRIMARY KEY,
    connection TEXT NOT NULL,
    model TEXT NOT NULL
);
