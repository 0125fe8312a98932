-- What each process has answered, minute by minute. times: how many answers took how long.
CREATE TABLE service_minutes (
    minute BIGINT NOT NULL,
    process TEXT NOT NULL,
    service TEXT NOT NULL,
    errors BIGINT NOT NULL,
    times TEXT NOT NULL,
    PRIMARY KEY (minute, process, service)
);

-- The processes that run, or ran lately. services: their names, separated by commas.
CREATE TABLE processes (
    id TEXT PRIMARY KEY,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    services TEXT NOT NULL
);
