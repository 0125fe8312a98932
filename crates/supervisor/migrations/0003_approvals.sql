-- decided_at: when an approval was answered. Those of earlier versions have none.
ALTER TABLE checkpoints ADD COLUMN decided_at BIGINT;
CREATE INDEX checkpoints_waiting ON checkpoints (id) WHERE status = 'waiting';
