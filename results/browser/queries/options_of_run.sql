-- The engine's options of a run, by its id, as the engine reported them
SELECT each.key AS option, each.value FROM resolved, json_each(resolved) AS each
WHERE run_id = :run ORDER BY option;
