"""Queries of imports: rows that are stored already, and equal rows of the files being read."""
