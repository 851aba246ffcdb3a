-- All numbers of a run, by its id
SELECT name, value, unit FROM metrics WHERE run_id = :run ORDER BY name;
