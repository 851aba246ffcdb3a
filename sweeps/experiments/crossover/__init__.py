"""The main job: a study, its cells, and the crossovers found among them."""
