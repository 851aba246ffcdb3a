-- Series of a study name their machine, since a study may have several.
UPDATE series SET name = (
    SELECT substr(name, 1, instr(name, '/')) || machine || substr(name, instr(name, '/'))
    FROM runs WHERE runs.id = run_id
) WHERE name GLOB 'map/*' OR name GLOB 'run_length/*';
UPDATE crossovers
SET series = substr(series, 1, instr(series, '/')) || machine || substr(series, instr(series, '/'))
WHERE series GLOB 'map/*' OR series GLOB 'run_length/*';
UPDATE crossovers
SET series = 'axis/' || axis || '/' || machine || substr(series, length('axis/' || axis) + 1)
WHERE series GLOB 'axis/*';

-- Where each seed has a crossover. A seed without one near the first seed's has no value. If the
-- first seed has none, a value is one at which the other lock is cheaper.
CREATE TABLE crossover_seeds (
    crossover_id INTEGER NOT NULL REFERENCES crossovers (id) ON DELETE CASCADE,
    seed INTEGER NOT NULL,
    value REAL,
    bracket_low INTEGER,
    bracket_high INTEGER,
    PRIMARY KEY (crossover_id, seed)
) WITHOUT ROWID;
INSERT INTO crossover_seeds
SELECT crossovers.id, min(seed), crossovers.value, bracket_low, bracket_high
FROM crossovers JOIN crossover_runs ON crossover_id = crossovers.id JOIN runs ON runs.id = run_id
WHERE crossovers.value IS NOT NULL GROUP BY crossovers.id;

-- Both locks at every value of the axis that was tried, with each seed.
CREATE TABLE crossover_runs_of_seeds (
    crossover_id INTEGER NOT NULL REFERENCES crossovers (id) ON DELETE CASCADE,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    seed INTEGER NOT NULL,
    lock TEXT NOT NULL,
    x INTEGER NOT NULL,
    cost REAL NOT NULL,
    PRIMARY KEY (crossover_id, seed, lock, x)
) WITHOUT ROWID;
INSERT INTO crossover_runs_of_seeds
SELECT crossover_id, run_id, seed, crossover_runs.lock, x, cost
FROM crossover_runs JOIN runs ON runs.id = run_id;
DROP TABLE crossover_runs;
ALTER TABLE crossover_runs_of_seeds RENAME TO crossover_runs;
CREATE INDEX crossover_runs_by_run ON crossover_runs (run_id);

-- What a plan had before it could be given.
UPDATE facts
SET value = json_insert(
    value, '$.beside', json('[]'), '$.seeds', 1, '$.tie_percent', 2.0, '$.limits', json('{}')
) WHERE name = 'plan';
