-- Where the cycles of a pair go, by lock and ISA, in the runs of the winner table
WITH pairs AS (SELECT run_id, value AS pairs FROM metrics WHERE name = 'pairs')
SELECT engine, machine, isa, flavour, lock, fence, metrics.name AS cause,
       round(value / pairs, 2) AS cycles_per_pair
FROM series JOIN runs ON runs.id = series.run_id
JOIN metrics ON metrics.run_id = runs.id JOIN pairs ON pairs.run_id = runs.id
WHERE series.name GLOB 'table/*' AND metrics.name GLOB 'stall_*' AND value > 0
ORDER BY engine, machine, isa, flavour, lock, fence, value DESC;
