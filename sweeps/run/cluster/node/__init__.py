"""What runs on the nodes of a cluster."""
