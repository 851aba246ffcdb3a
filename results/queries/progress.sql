-- Runs by plan and status, with the time they took
SELECT plan, status, count(*) AS runs, round(sum(duration_s), 1) AS seconds, max(started) AS last
FROM runs GROUP BY plan, status ORDER BY plan, status;
