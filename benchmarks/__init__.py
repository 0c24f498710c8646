"""Benchmarks: every measurement beside its limit or peer, in the same run."""
