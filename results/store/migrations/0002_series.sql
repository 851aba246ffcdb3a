-- What figures and report are drawn from: which runs make up a series (a run may serve several),
-- the machines as they were described, and facts of a study that belong to no single run.
CREATE TABLE series (
    name TEXT NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    PRIMARY KEY (name, run_id)
) WITHOUT ROWID;
CREATE INDEX series_by_run ON series (run_id);

CREATE TABLE machines (
    name TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    description TEXT NOT NULL CHECK (json_valid(description))
) WITHOUT ROWID;

CREATE TABLE facts (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL CHECK (json_valid(value))
) WITHOUT ROWID;
