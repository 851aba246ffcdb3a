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

INSERT INTO metric_sets (layout)
SELECT DISTINCT layout FROM (
    SELECT json_group_array(json_array(name, unit)) AS layout
    FROM (SELECT run_id, name, unit FROM metrics ORDER BY run_id, name) GROUP BY run_id
);
INSERT INTO metric_names (metric_set, name, unit, position)
SELECT metric_sets.id, json_extract(each.value, '$[0]'), json_extract(each.value, '$[1]'), each.key
FROM metric_sets, json_each(layout) AS each;
INSERT INTO run_metrics (run_id, metric_set, numbers)
SELECT run_id, id, numbers FROM (
    SELECT run_id, json_group_array(json_array(name, unit)) AS layout,
           '[' || group_concat(number_text(value)) || ']' AS numbers
    FROM (SELECT * FROM metrics ORDER BY run_id, name) GROUP BY run_id
) JOIN metric_sets USING (layout);

-- The cost, beside the axes: lists are sorted by it, and most queries ask for it.
ALTER TABLE runs ADD COLUMN cycles_per_pair REAL; -- NULL: a run without a cost
UPDATE runs SET cycles_per_pair = (
    SELECT value FROM metrics WHERE run_id = runs.id AND name = 'cycles_per_pair'
);

DROP TABLE metrics;
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
CREATE TABLE whole_options AS
SELECT DISTINCT resolved, (SELECT json_group_array(key) FROM json_each(resolved)) AS names FROM runs;
INSERT INTO option_sets (names) SELECT DISTINCT names FROM whole_options;
INSERT INTO resolved_options (digest, option_set, settings)
SELECT digest(resolved), id, (SELECT json_group_array(value) FROM json_each(resolved))
FROM whole_options JOIN option_sets USING (names);
ALTER TABLE runs ADD COLUMN resolved_id INTEGER REFERENCES resolved_options (id);
UPDATE runs SET resolved_id = (
    SELECT id FROM resolved_options WHERE digest = digest(runs.resolved)
);
DROP TABLE whole_options;
ALTER TABLE runs DROP COLUMN resolved;
CREATE VIEW resolved AS -- a JSON object again
SELECT runs.id AS run_id, (
    SELECT json_group_object(each.value, json_extract(settings, '$[' || each.key || ']'))
    FROM json_each(names) AS each
) AS resolved
FROM runs JOIN resolved_options ON resolved_options.id = resolved_id
JOIN option_sets ON option_sets.id = option_set;

-- Nearly every run is ok: an index of all states misleads.
DROP INDEX runs_by_status;
CREATE INDEX runs_not_ok ON runs (id) WHERE status != 'ok';
-- Counting runs by any of these reads the index alone.
DROP INDEX runs_by_setting;
CREATE INDEX runs_by_setting
ON runs (machine, isa, workload, lock, fence, engine, threads, status, cas, cancel, seed);
