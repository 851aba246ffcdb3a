-- The command that repeats a run, by its id, and what it was made with
SELECT command, engine_version, compiler, source_revision, started, duration_s, attempts
FROM runs WHERE id = :run;
