"""The kernel of every question: plans, costs of runs, leads, figures and tables."""
