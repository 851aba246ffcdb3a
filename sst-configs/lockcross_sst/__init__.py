"""Memory systems for SST, from the figures of a machine. Runs inside SST's own Python."""
