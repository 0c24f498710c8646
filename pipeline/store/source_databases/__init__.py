"""Databases that imports read: the rows of a query, in chunks."""
