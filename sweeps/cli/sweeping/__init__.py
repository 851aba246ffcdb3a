"""Commands for sweeps: run a plan, build its programs, write files to start from."""
