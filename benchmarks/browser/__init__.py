"""Benchmarks of the browser script."""
