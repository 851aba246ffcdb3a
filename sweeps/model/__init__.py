"""What there is to run: ISAs, locks, workloads, machines, and the cells made of them."""
