-- Cost, hand-over and network of locks by cores, and by the place of an owner's contender
SELECT series.name AS series, runs.engine, machine, lock, threads AS cores,
       json_extract(parameters, '$.owner_share') AS owner_share, seed,
       round(core.value / pairs.value, 1) AS core_cycles_per_pair,
       round(longest.value / pairs.value, 1) AS cycles_per_pair,
       round(messages.value / pairs.value, 2) AS messages_per_pair,
       round(bytes.value / pairs.value, 1) AS bytes_per_pair,
       round(home.value, 3) AS busiest_home
FROM series JOIN runs ON runs.id = series.run_id
JOIN metrics pairs ON pairs.run_id = runs.id AND pairs.name = 'pairs'
JOIN metrics core ON core.run_id = runs.id AND core.name = 'core_cycles'
LEFT JOIN metrics longest ON longest.run_id = runs.id AND longest.name = 'cycles'
LEFT JOIN metrics messages ON messages.run_id = runs.id AND messages.name = 'network_messages'
LEFT JOIN metrics bytes ON bytes.run_id = runs.id AND bytes.name = 'network_bytes'
LEFT JOIN metrics home ON home.run_id = runs.id AND home.name = 'home_occupancy_most'
WHERE series.name IN ('many_cores/cores', 'many_cores/distance') AND status = 'ok'
ORDER BY series.name, threads, owner_share, runs.engine, lock, seed;
