"""Systems for gem5's SE mode, from the figures of a machine. Runs inside gem5's own Python."""
