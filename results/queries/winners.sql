-- The cheapest of the locks compared, by engine, machine, ISA and flavour, with its lead in cycles
WITH costs AS (
    SELECT engine, machine, isa, flavour,
           lock || CASE fence WHEN 'full' THEN '' ELSE '/' || fence END AS label,
           value AS cost,
           row_number() OVER place AS rank,
           lead(value) OVER place AS next
    FROM series JOIN runs ON runs.id = series.run_id
    JOIN metrics ON metrics.run_id = runs.id AND metrics.name = 'cycles_per_pair'
    WHERE series.name GLOB 'table/*' AND status = 'ok'
      AND lock IN (SELECT each.value FROM facts, json_each(facts.value, '$.locks') AS each
                   WHERE facts.name = 'plan')
    WINDOW place AS (PARTITION BY engine, machine, isa, flavour ORDER BY value)
)
SELECT engine, machine, isa, flavour, label AS winner, round(cost, 2) AS cycles_per_pair,
       round(next - cost, 2) AS lead_cycles
FROM costs WHERE rank = 1 ORDER BY engine, machine, isa, flavour;
