-- Runs with their metrics, what was measured of single operations, and the crossovers.
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
    cas INTEGER,                    -- set latencies in cycles; NULL: the machine's own
    fence_latency INTEGER,
    cancel INTEGER,
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
    resolved TEXT NOT NULL CHECK (json_valid(resolved))
);
CREATE INDEX runs_by_setting ON runs (machine, isa, workload, lock);
CREATE INDEX runs_by_status ON runs (status, isa);

CREATE TABLE metrics (
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    value REAL NOT NULL,
    unit TEXT NOT NULL,
    PRIMARY KEY (run_id, name)
) WITHOUT ROWID;
CREATE INDEX metrics_by_name ON metrics (name, value);

CREATE TABLE calibrations (
    id INTEGER PRIMARY KEY,
    machine TEXT NOT NULL,
    isa TEXT NOT NULL,
    flavour TEXT NOT NULL,
    engine TEXT NOT NULL,
    cas INTEGER,
    fence_latency INTEGER,
    op TEXT NOT NULL,
    cycles REAL NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    base_run_id INTEGER NOT NULL REFERENCES runs (id)
);
-- NULLs are distinct in a unique index, so latencies that are not set count as -1.
CREATE UNIQUE INDEX calibrations_by_setting ON calibrations
    (machine, isa, flavour, engine, ifnull(cas, -1), ifnull(fence_latency, -1), op);

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
    low INTEGER NOT NULL,
    high INTEGER NOT NULL,
    tolerance INTEGER NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('crosses', 'a_always', 'b_always', 'tie')),
    below TEXT NOT NULL,
    value REAL,
    bracket_low INTEGER,
    bracket_high INTEGER,
    CHECK ((verdict = 'crosses') = (value IS NOT NULL))
);
CREATE INDEX crossovers_by_series ON crossovers (series);

-- The runs that show a crossover: both locks at every value of the axis that was tried.
CREATE TABLE crossover_runs (
    crossover_id INTEGER NOT NULL REFERENCES crossovers (id) ON DELETE CASCADE,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    lock TEXT NOT NULL,
    x INTEGER NOT NULL,
    cost REAL NOT NULL,
    PRIMARY KEY (crossover_id, lock, x)
) WITHOUT ROWID;
CREATE INDEX crossover_runs_by_run ON crossover_runs (run_id);
