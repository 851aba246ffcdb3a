-- Every crossover with its bracket, or which lock wins throughout; latencies in cycles, as set
SELECT id, series, axis, lock_a, lock_b, verdict, below AS cheaper_below,
       round(value, 2) AS value, bracket_low, bracket_high, tolerance, unit, setting
FROM crossovers ORDER BY series, axis, lock_a, lock_b, value;
