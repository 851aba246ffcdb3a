"""Cells on the nodes of a cluster, through Parsl: described by a file of sweeps/clusters."""
