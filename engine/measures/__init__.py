"""Measures: what a goal takes of each visitor, with all that follows from it."""
