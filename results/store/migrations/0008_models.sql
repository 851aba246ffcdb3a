-- A value that comes from a model, checked by runs of their own: by how much it was off there, in the
-- axis's unit. NULL: both ends of its bracket were run.
ALTER TABLE crossover_seeds ADD COLUMN error REAL;
