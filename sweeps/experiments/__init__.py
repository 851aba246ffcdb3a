"""What is asked: plans, calibrations, footprints, validation, crossovers, reproductions."""
