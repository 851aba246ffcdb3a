"""Logs of lock events: their format, what they say of locality, and of lines of source."""
