"""What runs leave behind: the database, its rows as text, how figures become files."""
