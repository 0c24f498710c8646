"""Warehouses of a team: events counted where they are, by SQL of which only sums come back."""
