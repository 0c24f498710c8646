"""Sample size, power and the cost of repeated looks."""
