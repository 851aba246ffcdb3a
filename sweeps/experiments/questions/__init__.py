"""What a user asks: which lock is the cheapest here, and where two locks change places."""
