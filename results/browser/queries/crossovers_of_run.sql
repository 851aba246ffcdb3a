-- The crossovers that a run, by its id, helps to show
SELECT DISTINCT crossover_id, series, axis, lock_a, lock_b, verdict, below AS cheaper_below,
       round(value, 2) AS value, unit
FROM crossover_runs JOIN crossovers ON crossovers.id = crossover_id
WHERE run_id = :run ORDER BY crossover_id;
