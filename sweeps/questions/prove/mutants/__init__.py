"""Mutants of the locks: every order weakened, every step left out, and what catches each."""
