"""Running cells: what is stored already, processes side by side, servers, clusters."""
