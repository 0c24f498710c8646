"""Backups of a whole store, written while it is in use, and their restoration."""
