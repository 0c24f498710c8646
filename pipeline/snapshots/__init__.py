"""Snapshots: Parquet copies of the store, and their reader."""
