"""What `lockcross prove` proves: locks, primitives, and that their mutants are caught."""
