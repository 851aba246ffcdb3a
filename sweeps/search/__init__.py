"""What is looked for among runs: costs along lines, where two locks change places, who wins."""
