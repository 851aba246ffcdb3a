"""The kernel of every question: what a plan says, what its runs cost, who leads, what is shown."""
