"""The engine: pure statistics, experiment design and analysis."""
