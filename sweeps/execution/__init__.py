"""Running cells: what is stored already, processes side by side, folders that are kept."""
