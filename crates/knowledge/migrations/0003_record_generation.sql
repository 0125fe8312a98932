-- The generation of the gateway's record that an administrator's verifiers belong to; empty if there is none. If the
-- record is of another generation, another tool has changed the password, and the verifiers are of the old one.
ALTER TABLE users ADD COLUMN record_generation TEXT NOT NULL DEFAULT '';
