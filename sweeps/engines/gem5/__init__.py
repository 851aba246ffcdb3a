"""The user's own gem5 in SE mode, with gem5-configs/."""
