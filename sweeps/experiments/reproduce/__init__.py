"""Published experiments run again: definitions, and what comes of them."""
