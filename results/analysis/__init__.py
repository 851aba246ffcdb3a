"""What follows from runs: crossovers, winners, errors, locality. No files, no drawing."""
