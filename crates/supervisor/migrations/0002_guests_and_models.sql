-- Seeds are long, and every list and every change reads the project's row: the whole seed has a table of its own, and the
-- row keeps its beginning.
CREATE TABLE seeds (
    project_id TEXT PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
    product_seed TEXT NOT NULL
);
INSERT INTO seeds (project_id, product_seed) SELECT id, product_seed FROM projects;
ALTER TABLE projects ADD COLUMN seed_length BIGINT NOT NULL DEFAULT 0;
UPDATE projects SET seed_length = length(product_seed), product_seed = substr(product_seed, 1, 300);
ALTER TABLE projects RENAME COLUMN product_seed TO seed_excerpt;

-- by_guest: 1 if a guest made it. Those are counted.
ALTER TABLE projects ADD COLUMN by_guest BIGINT NOT NULL DEFAULT 0;
CREATE INDEX projects_of_guests ON projects (id) WHERE by_guest = 1;

-- provider, model: what was asked for this run. guest_address: where the guest is who started it, until it ends.
ALTER TABLE runs ADD COLUMN provider TEXT;
ALTER TABLE runs ADD COLUMN model TEXT;
ALTER TABLE runs ADD COLUMN guest_address TEXT;
CREATE INDEX runs_of_guests ON runs (guest_address) WHERE status = 'running' AND guest_address IS NOT NULL;

-- Has one row. Whoever counts what guests have locks it first, so that processes count one after the other.
CREATE TABLE guest_lock (id BIGINT PRIMARY KEY);
INSERT INTO guest_lock (id) VALUES (1);
