"""Imports of tables of visitors or events."""
