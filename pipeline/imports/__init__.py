"""Imports of files: tables of visitors or events."""
