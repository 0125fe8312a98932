-- Ids are UUIDs that sort by the time of their making, which is that of one process's clock.
-- sequence_key: leads that share it reach the CRM one after the other, in the order of their places: 1, 2, 3 as they were
-- committed, 0 where a lead never was to be sent. idempotency_key, content_digest: digests, by which
-- the same lead is known when it comes again; both are forgotten after a day.
CREATE TABLE leads (
    id TEXT PRIMARY KEY,
    form TEXT NOT NULL,
    status TEXT NOT NULL,
    email TEXT,
    fields TEXT NOT NULL,
    consent TEXT,
    address TEXT,
    sequence_key TEXT NOT NULL,
    place BIGINT NOT NULL DEFAULT 0,
    idempotency_key TEXT,
    content_digest TEXT,
    attempts BIGINT NOT NULL,
    error TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    forwarded_at BIGINT
);
CREATE UNIQUE INDEX leads_idempotency ON leads (form, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE UNIQUE INDEX leads_content ON leads (form, content_digest) WHERE content_digest IS NOT NULL;
CREATE INDEX leads_places ON leads (sequence_key, place);
CREATE INDEX leads_waiting ON leads (sequence_key, place) WHERE status = 'queued';
CREATE INDEX leads_of_status ON leads (status, id);
CREATE INDEX leads_of_email ON leads (email, id) WHERE email IS NOT NULL;

-- The keys that have waiting leads, each with the one job that sends them. The job itself says nothing of its key, which is a
-- digest of somebody's address.
CREATE TABLE lead_queues (
    sequence_key TEXT PRIMARY KEY,
    job_id BIGINT
);
CREATE UNIQUE INDEX lead_queues_of_job ON lead_queues (job_id);
