-- Where runs ran. No part of a run's identity: cycles are the same everywhere.
CREATE TABLE places (
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL,
    processor TEXT NOT NULL,
    job TEXT NOT NULL,    -- of the batch system; '': none
    worker TEXT NOT NULL, -- on that host; '': the driver itself
    UNIQUE (host, processor, job, worker)
);
ALTER TABLE runs ADD COLUMN place_id INTEGER REFERENCES places (id); -- NULL: refused, or not known
