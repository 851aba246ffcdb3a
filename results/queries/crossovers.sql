-- Every crossover with its bracket and its band over seeds, or which lock wins throughout; as set
SELECT id, series, crossovers.machine, axis, lock_a, lock_b, verdict, below AS cheaper_below,
       round(crossovers.value, 2) AS value, crossovers.bracket_low, crossovers.bracket_high,
       count(seed) AS seeds, round(min(crossover_seeds.value), 2) AS least,
       round(max(crossover_seeds.value), 2) AS greatest, tolerance, unit, setting
FROM crossovers LEFT JOIN crossover_seeds ON crossover_id = id
GROUP BY id ORDER BY series, axis, lock_a, lock_b, crossovers.value;
