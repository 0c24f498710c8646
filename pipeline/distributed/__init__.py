"""Distributed rollup: a project's events counted by several processes, as files and as sums for a service."""
