"""Connections to DuckDB: cursors with time limits, and reopening after fatal errors."""
