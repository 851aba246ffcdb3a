-- Cycles per pair of the same cell by programs of several compilers, largest difference first; latest 20,000
WITH costs AS (
    SELECT engine, machine, isa, flavour, lock, variant, fence, workload, parameters, threads,
           cores, cas_latency, fence_latency, cancel_latency, seed, compiler, cycles_per_pair AS cost
    FROM runs
    WHERE status = 'ok' AND cycles_per_pair IS NOT NULL ORDER BY id DESC LIMIT 20000
)
SELECT engine, machine, isa, flavour, lock, variant, fence, workload, threads, cores,
       cas_latency, fence_latency, cancel_latency,
       round(100 * (max(cost) / min(cost) - 1), 2) AS difference_percent,
       group_concat(round(cost, 2) || ' (' || compiler || ')', ', ') AS cycles_per_pair
FROM costs
GROUP BY engine, machine, isa, flavour, lock, variant, fence, workload, parameters, threads, cores,
         cas_latency, fence_latency, cancel_latency, seed
HAVING count(DISTINCT compiler) > 1
ORDER BY difference_percent DESC LIMIT 200;
