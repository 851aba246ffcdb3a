"""Running cells: which are known already, processes side by side, what is kept of them."""
