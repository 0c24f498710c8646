"""Results from sums that were counted outside: their form, their checks, and their publication."""
