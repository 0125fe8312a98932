-- The counter row is locked by each append until its transaction ends, so commit order is sequence order.
CREATE TABLE event_streams (
    stream TEXT PRIMARY KEY,
    last_seq BIGINT NOT NULL
);
CREATE TABLE events (
    stream TEXT NOT NULL,
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (stream, seq)
);
