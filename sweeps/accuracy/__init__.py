"""What costs are compared with: published numbers, and how far the engine is known to be off."""
