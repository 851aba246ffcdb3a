"""The command line: how commands are found, and the options and bars that several have."""
