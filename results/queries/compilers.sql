-- Cycles per pair of the same cell by programs of several compilers, largest difference first; latest 20,000
WITH costs AS (
    SELECT engine, SETTING, compiler, cycles_per_pair AS cost
    FROM runs
    WHERE status = 'ok' AND cycles_per_pair IS NOT NULL ORDER BY id DESC LIMIT 20000
)
SELECT engine, SETTING,
       round(100 * (max(cost) / min(cost) - 1), 2) AS difference_percent,
       group_concat(round(cost, 2) || ' (' || compiler || ')', ', ') AS cycles_per_pair
FROM costs
GROUP BY engine, SETTING
HAVING count(DISTINCT compiler) > 1
ORDER BY difference_percent DESC LIMIT 200;
