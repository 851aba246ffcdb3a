"""Commands that read the database, and how they print rows."""
