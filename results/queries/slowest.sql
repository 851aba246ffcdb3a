-- The twenty runs that took the longest
SELECT id, round(duration_s, 2) AS seconds, engine, machine, isa, lock, variant, fence, workload,
       threads, cores, parameters
FROM runs ORDER BY duration_s DESC LIMIT 20;
