"""Ownership of a store: its locks, its owner, and the match of its catalog and warehouse."""
