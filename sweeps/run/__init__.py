"""Running cells: stored results, processes side by side, servers, clusters."""
