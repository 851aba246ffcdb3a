-- Runs with their metrics, what was measured of single operations, the crossovers, which runs make
-- up a series, the machines as they were described, and the facts of a study.
PRAGMA application_id = 0x4c584442; -- "LXDB": tells a Lockcross database from any other

CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE,
    plan TEXT NOT NULL,             -- the plan that asked for it first
    engine TEXT NOT NULL,
    engine_version TEXT NOT NULL,
    machine TEXT NOT NULL,
    isa TEXT NOT NULL,
    flavour TEXT NOT NULL,
    lock TEXT NOT NULL,
    fence TEXT NOT NULL,
    workload TEXT NOT NULL,
    parameters TEXT NOT NULL CHECK (json_valid(parameters)),
    threads INTEGER NOT NULL,
    cas_latency INTEGER,            -- set latencies in cycles; NULL: the machine's own
    fence_latency INTEGER,
    cancel_latency INTEGER,
    seed INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('ok', 'failed', 'refused')),
    cause TEXT NOT NULL,
    output TEXT NOT NULL,
    command TEXT NOT NULL,
    started TEXT NOT NULL,
    duration_s REAL NOT NULL,
    attempts INTEGER NOT NULL,
    binary_digest TEXT NOT NULL,
    source_revision TEXT NOT NULL,
    compiler TEXT NOT NULL,
    system TEXT NOT NULL DEFAULT '', -- the fact system/NAME: of which packages all this was made
    variant TEXT NOT NULL DEFAULT '', -- '': the lock's first, or only one
    cores INTEGER,                  -- NULL: a core a thread
    cycles_per_pair REAL,           -- NULL: a run without a cost; beside the axes, as lists are
                                    -- sorted by it, and most queries ask for it
    resolved_id INTEGER REFERENCES resolved_options (id),
    place_id INTEGER REFERENCES places (id) -- NULL: refused, or not known
);
-- Nearly every run is ok: an index of all states misleads.
CREATE INDEX runs_not_ok ON runs (id) WHERE status != 'ok';
-- Counting runs by any of these reads the index alone.
CREATE INDEX runs_by_setting
ON runs (machine, isa, workload, lock, fence, engine, threads, status, cas_latency, cancel_latency, seed);

-- Where runs ran. No part of a run's identity: cycles are the same everywhere.
CREATE TABLE places (
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL,
    processor TEXT NOT NULL,
    job TEXT NOT NULL,    -- of the batch system; '': none
    worker TEXT NOT NULL, -- on that host; '': the driver itself
    UNIQUE (host, processor, job, worker)
);

-- A run's numbers in one row. A row for each number made large databases slow and big. The names
-- and units of a run's metrics are a set that many runs share; so are the resolved options.
CREATE TABLE metric_sets (
    id INTEGER PRIMARY KEY,
    layout TEXT NOT NULL UNIQUE CHECK (json_valid(layout)) -- [[name, unit], ...], by name
);
CREATE TABLE metric_names (
    metric_set INTEGER NOT NULL REFERENCES metric_sets (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    position INTEGER NOT NULL, -- in the numbers of a run, from 0
    PRIMARY KEY (metric_set, name)
) WITHOUT ROWID;
CREATE TABLE run_metrics (
    run_id INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    metric_set INTEGER NOT NULL REFERENCES metric_sets (id),
    numbers TEXT NOT NULL CHECK (json_valid(numbers)) -- a JSON array, in the order of the set
);
CREATE VIEW metrics AS -- a row for each number again, for queries
SELECT run_id, name, CAST(json_extract(numbers, '$[' || position || ']') AS REAL) AS value, unit
FROM run_metrics JOIN metric_names ON metric_names.metric_set = run_metrics.metric_set;

CREATE TABLE option_sets (
    id INTEGER PRIMARY KEY,
    names TEXT NOT NULL UNIQUE CHECK (json_valid(names))
);
CREATE TABLE resolved_options (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE, -- of the whole as a JSON object
    option_set INTEGER NOT NULL REFERENCES option_sets (id),
    settings TEXT NOT NULL CHECK (json_valid(settings)) -- a JSON array, in the order of the names
);
CREATE VIEW resolved AS -- a JSON object again
SELECT runs.id AS run_id, (
    SELECT json_group_object(each.value, json_extract(settings, '$[' || each.key || ']'))
    FROM json_each(names) AS each
) AS resolved
FROM runs JOIN resolved_options ON resolved_options.id = resolved_id
JOIN option_sets ON option_sets.id = option_set;

CREATE TABLE calibrations (
    id INTEGER PRIMARY KEY,
    machine TEXT NOT NULL,
    isa TEXT NOT NULL,
    flavour TEXT NOT NULL,
    engine TEXT NOT NULL,
    cas_latency INTEGER,
    fence_latency INTEGER,
    op TEXT NOT NULL,
    cycles REAL NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    base_run_id INTEGER NOT NULL REFERENCES runs (id)
);
-- NULLs are distinct in a unique index, so latencies that are not set count as -1.
CREATE UNIQUE INDEX calibrations_by_setting ON calibrations
    (machine, isa, flavour, engine, ifnull(cas_latency, -1), ifnull(fence_latency, -1), op);

CREATE TABLE crossovers (
    id INTEGER PRIMARY KEY,
    series TEXT NOT NULL,
    machine TEXT NOT NULL,
    isa TEXT NOT NULL,
    flavour TEXT NOT NULL,
    engine TEXT NOT NULL,
    workload TEXT NOT NULL,
    setting TEXT NOT NULL CHECK (json_valid(setting)),
    axis TEXT NOT NULL,
    unit TEXT NOT NULL,
    lock_a TEXT NOT NULL,
    lock_b TEXT NOT NULL,
    low NUMERIC NOT NULL,
    high NUMERIC NOT NULL,
    tolerance NUMERIC NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('crosses', 'a_always', 'b_always', 'tie')),
    below TEXT NOT NULL,
    value REAL,
    bracket_low NUMERIC,
    bracket_high NUMERIC,
    CHECK ((verdict = 'crosses') = (value IS NOT NULL))
);
CREATE INDEX crossovers_by_series ON crossovers (series);

-- The runs that show a crossover: both locks at every value of the axis that was tried, with each
-- seed.
CREATE TABLE crossover_runs (
    crossover_id INTEGER NOT NULL REFERENCES crossovers (id) ON DELETE CASCADE,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    seed INTEGER NOT NULL,
    lock TEXT NOT NULL,
    x NUMERIC NOT NULL,
    cost REAL NOT NULL,
    PRIMARY KEY (crossover_id, seed, lock, x)
) WITHOUT ROWID;
CREATE INDEX crossover_runs_by_run ON crossover_runs (run_id);

-- Where each seed has a crossover. A seed without one near the first seed's has no value. If the
-- first seed has none, a value is one at which the other lock is cheaper.
CREATE TABLE crossover_seeds (
    crossover_id INTEGER NOT NULL REFERENCES crossovers (id) ON DELETE CASCADE,
    seed INTEGER NOT NULL,
    value REAL,
    bracket_low NUMERIC,
    bracket_high NUMERIC,
    PRIMARY KEY (crossover_id, seed)
) WITHOUT ROWID;

-- What figures and report are drawn from: which runs make up a series (a run may serve several),
-- the machines as they were described, and facts of a study that belong to no single run.
CREATE TABLE series (
    name TEXT NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    -- By axis, the cycles that the plan has set: several where a run serves for all of them.
    latencies TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(latencies)),
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

-- The greatest number is the version of all this (VERSION in database.py).
CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied TEXT NOT NULL);
