-- The cheapest of all locks and of those compared, by engine, machine, ISA and flavour; leads
WITH plan AS (SELECT value FROM facts WHERE name = 'plan'),
costs AS (
    SELECT engine, machine, isa, flavour, fence, cycles_per_pair AS cost,
           lock || CASE fence WHEN 'full' THEN '' ELSE '/' || fence END AS label,
           lock IN (SELECT each.value FROM plan, json_each(plan.value, '$.locks') AS each)
               AS compared,
           lock, (SELECT json_extract(value, '$.production.' || flavour) FROM plan) AS kind
    FROM runs
    WHERE id IN (SELECT run_id FROM series WHERE name GLOB 'table/*') AND status = 'ok'
          AND cycles_per_pair IS NOT NULL
),
of_production AS ( -- a lock without that kind of fence has full ones
    SELECT *, fence = kind OR fence = 'full' AND 0 = max(fence = kind) OVER
               (PARTITION BY engine, machine, isa, flavour, lock) AS production
    FROM costs
),
contests (fences, locks) AS (
    VALUES ('production', 'all'), ('production', 'compared'),
           ('full', 'all'), ('full', 'compared'), ('any', 'all'), ('any', 'compared')
),
ranked AS (
    SELECT *, row_number() OVER place AS rank, lead(cost) OVER place AS next_cost,
           lead(label) OVER place AS next,
           sum(fence != 'full') OVER (PARTITION BY engine, machine, isa, flavour, fences) AS others
    FROM of_production JOIN contests
         ON CASE fences WHEN 'production' THEN production WHEN 'full' THEN fence = 'full' ELSE 1 END
            AND (locks = 'all' OR compared)
    WINDOW place AS (PARTITION BY engine, machine, isa, flavour, fences, locks
                     ORDER BY cost, label)
)
SELECT engine, machine, isa, flavour, fences, locks, label AS winner,
       round(cost, 2) AS cycles_per_pair, round(next_cost - cost, 2) AS lead_cycles,
       round(100 * (next_cost - cost) / next_cost, 2) AS lead_percent, next
FROM ranked WHERE rank = 1 AND (fences = 'full' OR others > 0)
ORDER BY engine, machine, isa, flavour, fences DESC, locks;
