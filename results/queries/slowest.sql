-- The twenty runs that took the longest
SELECT id, round(duration_s, 2) AS seconds, machine, isa, lock, fence, workload, threads, parameters
FROM runs ORDER BY duration_s DESC LIMIT 20;
