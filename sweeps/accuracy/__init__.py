"""References for costs: published numbers, and how far the engine is known to be off."""
