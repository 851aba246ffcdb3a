"""The things that can be run: ISAs, locks, workloads, machines, and the cells made of them."""
