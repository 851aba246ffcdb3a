"""The runs of plans: their settings, winners and comparisons."""
