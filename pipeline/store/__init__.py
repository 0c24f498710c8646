"""The store: the only SQL of the project."""
