"""Benchmarks of the warehouse: rollups, results and disk."""
