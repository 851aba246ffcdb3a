"""The database: opening, writing and querying it, and its contents."""
