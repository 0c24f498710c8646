"""The warehouse: events, visitors and sums in DuckDB."""
