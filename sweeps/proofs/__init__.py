"""Proofs of the locks: which there are, how they are built and run, what came of them."""
