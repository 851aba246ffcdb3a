"""Figures of plans: cost along what they vary."""
