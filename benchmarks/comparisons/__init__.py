"""Benchmarks of the statistics: comparisons of variants against packages that make them too."""
