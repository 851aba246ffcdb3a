-- Cells of the validation sets on both engines, and the candidate's error, the worst first
WITH judged AS (
    SELECT each.key AS name, coalesce(json_extract(each.value, '$.candidate'), 'qemu') AS engine
    FROM facts, json_each(facts.value) AS each WHERE facts.name = 'validation_bars'
)
SELECT substr(series.name, 12) AS validation_set, ref.engine AS reference, own.engine AS candidate,
       ref.machine, ref.isa, ref.flavour,
       ref.lock || CASE ref.variant WHEN '' THEN '' ELSE ':' || ref.variant END
           || CASE ref.fence WHEN 'full' THEN '' ELSE '/' || ref.fence END AS label,
       ref.workload, ref.threads, round(ref.cycles_per_pair, 2) AS reference_cost,
       round(own.cycles_per_pair, 2) AS candidate_cost,
       round(100 * (own.cycles_per_pair - ref.cycles_per_pair)
             / ref.cycles_per_pair, 2) AS error_percent,
       ref.id AS reference_run, own.id AS candidate_run
FROM series JOIN judged ON series.name = 'validation/' || judged.name
JOIN runs ref ON ref.id = series.run_id AND ref.engine <> judged.engine
JOIN series other ON other.name = series.name
JOIN runs own ON own.id = other.run_id AND own.engine = judged.engine
    AND own.SETTING IS ref.SETTING
WHERE own.status = 'ok' AND ref.status = 'ok'
    AND own.cycles_per_pair IS NOT NULL AND ref.cycles_per_pair IS NOT NULL
ORDER BY abs(own.cycles_per_pair - ref.cycles_per_pair) / ref.cycles_per_pair DESC, ref.id;
