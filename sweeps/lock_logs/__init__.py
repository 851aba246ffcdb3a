"""Logs of lock events: their format, locality, and lines of source."""
