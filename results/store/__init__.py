"""The database: opening, writing and querying it, and what it keeps."""
