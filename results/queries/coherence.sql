-- Coherence events per pair by engine, lock, variant and ISA, latest 3,000 runs of lock_sequence
WITH latest AS MATERIALIZED (
    SELECT id, engine, isa, lock, variant, fence FROM runs
    WHERE workload = 'lock_sequence' AND status = 'ok' ORDER BY id DESC LIMIT 3000
),
events AS MATERIALIZED (
    SELECT latest.id, metrics.name AS event, metrics.value AS number, pairs.value AS pairs
    FROM latest JOIN metrics ON metrics.run_id = latest.id
    JOIN metrics AS pairs ON pairs.run_id = latest.id AND pairs.name = 'pairs'
    WHERE metrics.name GLOB 'coherence_*'
)
SELECT engine, isa, lock, variant, fence, event,
       round(avg(number / pairs), 4) AS per_pair, count(*) AS runs
FROM events JOIN latest USING (id)
GROUP BY engine, isa, lock, variant, fence, event HAVING sum(number) > 0
ORDER BY engine, isa, lock, variant, fence, event;
