"""Figures of answers to users' own questions."""
