"""The figures and the report of a database: what every question has to show."""
