"""Paths, reading files of unknown content, texts for people."""
