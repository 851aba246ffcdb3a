"""Proofs of the locks: the programs to prove, the tools, and the results."""
