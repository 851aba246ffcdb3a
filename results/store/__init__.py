"""The database: opening, writing and asking it, and what is kept in it."""
