-- Where a process listens: addresses with ports, separated by commas.
ALTER TABLE processes ADD COLUMN addresses TEXT NOT NULL DEFAULT '';
