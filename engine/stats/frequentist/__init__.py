"""Frequentist tests and intervals for one look at the data."""
