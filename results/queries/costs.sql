-- Cycles per pair of every lock of the winner table, by engine and machine, cheapest first
SELECT engine, machine, isa, flavour, lock, fence, round(value, 2) AS cycles_per_pair, runs.id
FROM series JOIN runs ON runs.id = series.run_id
JOIN metrics ON metrics.run_id = runs.id AND metrics.name = 'cycles_per_pair'
WHERE series.name GLOB 'table/*' AND status = 'ok'
ORDER BY engine, machine, isa, flavour, value;
