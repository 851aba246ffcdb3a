"""Slurm on this machine: a controller and several nodes, started and ended by the tests."""
