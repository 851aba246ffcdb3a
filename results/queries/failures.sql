-- Runs that failed or were refused, with the cause and the command that repeats them
SELECT id, status, cause, attempts, command FROM runs WHERE status != 'ok' ORDER BY id DESC;
