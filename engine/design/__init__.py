"""Experiment design: definition, lifecycle, targeting, assignment and planning."""
