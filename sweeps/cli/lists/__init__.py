"""What `locks` and `workloads` print."""
