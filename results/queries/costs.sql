-- Cycles per pair of every lock of the winner table, by engine and machine, cheapest first
SELECT engine, machine, isa, flavour, lock, fence, round(runs.cycles_per_pair, 2) AS cycles_per_pair,
       runs.id
FROM series JOIN runs ON runs.id = series.run_id
WHERE series.name GLOB 'table/*' AND status = 'ok' AND runs.cycles_per_pair IS NOT NULL
ORDER BY engine, machine, isa, flavour, runs.cycles_per_pair;
