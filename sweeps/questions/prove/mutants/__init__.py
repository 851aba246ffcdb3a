"""Mutants of the locks: every order weakened, every step left out, and the check that catches
each."""
