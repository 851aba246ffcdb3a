"""What the lists of locks, machines and workloads print, and the names that a shell completes."""
