-- One more axis of a run: at which node of a network each core is.
ALTER TABLE runs ADD COLUMN place TEXT NOT NULL DEFAULT ''; -- '': in the order of the nodes
