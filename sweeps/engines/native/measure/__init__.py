"""Measures the host, operation by operation, and describes it as a machine."""
