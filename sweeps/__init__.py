"""Machines, plans, building, engine adapters, running and resuming."""
