"""The host itself as an engine: real processors, real parallelism, real noise."""
