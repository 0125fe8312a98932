-- A project of no guest and without an owner_id belongs to the administrators. owner_name: what its owner was called when
-- it was created. guest_address: where the guest was who created it.
ALTER TABLE projects ADD COLUMN owner_id TEXT;
ALTER TABLE projects ADD COLUMN owner_name TEXT;
ALTER TABLE projects ADD COLUMN space_id TEXT;
ALTER TABLE projects ADD COLUMN guest_address TEXT;
CREATE INDEX projects_of_owner ON projects (owner_id, id) WHERE owner_id IS NOT NULL;
CREATE INDEX projects_of_space ON projects (space_id, id) WHERE space_id IS NOT NULL;

-- What guests are limited by: a row for each start of a run, with its time, and one for about what each of its steps has
-- stored, with the time 0.
CREATE TABLE guest_usage (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    bytes BIGINT NOT NULL
);
CREATE INDEX guest_usage_of_project ON guest_usage (project_id);
CREATE INDEX guest_usage_by_address ON guest_usage (address, started_at, bytes);
