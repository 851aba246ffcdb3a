"""Commands that answer a user's own question."""
