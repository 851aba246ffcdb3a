"""Engines: a folder each. sweeps/model/engines.py is their registry; the module `engine` of a
folder makes the adapter for a label."""
