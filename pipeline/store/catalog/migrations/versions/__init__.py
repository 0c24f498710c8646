"""Revisions of the catalog schema."""
