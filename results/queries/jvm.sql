-- Differences between the two locking modes of a JVM, ns a pair, measured and predicted, by program
SELECT json_extract(value, '$.title') AS program, json_extract(value, '$.java') AS java,
       json_extract(value, '$.machine') AS machine, json_extract(value, '$.second') AS second_mode,
       json_extract(value, '$.first') AS less_first_mode,
       json_extract(value, '$.acquisitions') AS acquisitions,
       round(json_extract(value, '$.measured.value'), 2) AS measured_ns,
       round(json_extract(value, '$.measured.low'), 2) AS measured_low,
       round(json_extract(value, '$.measured.high'), 2) AS measured_high,
       round(json_extract(value, '$.kept.value'), 2) AS no_lock_left_out_ns,
       round(json_extract(value, '$.kept.low'), 2) AS no_lock_left_out_low,
       round(json_extract(value, '$.kept.high'), 2) AS no_lock_left_out_high,
       round(json_extract(value, '$.predicted.value'), 2) AS predicted_ns,
       round(json_extract(value, '$.predicted.low'), 2) AS predicted_low,
       round(json_extract(value, '$.predicted.high'), 2) AS predicted_high
FROM facts WHERE name GLOB 'jvm/*'
ORDER BY java, machine, abs(json_extract(value, '$.measured.value')) DESC, program;
