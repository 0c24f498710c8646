"""Distributed rollup: a project's events counted by several processes, and published here."""
