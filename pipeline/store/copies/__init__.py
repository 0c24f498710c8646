"""Copies of whole databases while they are in use: the catalog and the warehouse."""
