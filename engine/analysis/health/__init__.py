"""Health checks of an experiment's data."""
