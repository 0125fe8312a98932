-- When due_at was set. If that is in the future, the clock was set back since.
ALTER TABLE jobs ADD COLUMN scheduled_at BIGINT NOT NULL DEFAULT 0;
