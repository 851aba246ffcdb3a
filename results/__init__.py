"""What runs leave behind: the store, queries, the crossover analysis, figures and the report."""
