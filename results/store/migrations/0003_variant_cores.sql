-- Two more axes of a run: the variant of its lock, and how many cores its threads share.
ALTER TABLE runs ADD COLUMN variant TEXT NOT NULL DEFAULT ''; -- '': the lock's first, or only one
ALTER TABLE runs ADD COLUMN cores INTEGER;                    -- NULL: a core a thread
