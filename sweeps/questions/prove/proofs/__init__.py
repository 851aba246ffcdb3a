"""Proofs of the locks: what there is to prove, by which tools, and what came of it."""
