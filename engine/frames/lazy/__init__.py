"""Lazy tables of databases and clusters: counted by their own engine, so that only sums are fetched."""
