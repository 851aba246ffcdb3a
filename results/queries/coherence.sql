-- Coherence events per pair by engine, lock, variant and ISA, on the workload lock_sequence
WITH pairs AS (SELECT run_id, value AS pairs FROM metrics WHERE name = 'pairs')
SELECT engine, isa, lock, variant, fence, metrics.name AS event,
       round(avg(value / pairs), 4) AS per_pair, count(*) AS runs
FROM runs JOIN metrics ON metrics.run_id = runs.id JOIN pairs ON pairs.run_id = runs.id
WHERE metrics.name GLOB 'coherence_*' AND workload = 'lock_sequence' AND status = 'ok'
GROUP BY engine, isa, lock, variant, fence, event HAVING sum(value) > 0
ORDER BY engine, isa, lock, variant, fence, event;
