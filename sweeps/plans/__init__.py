"""Plans: what users write down to be run, one file each, by kind."""
