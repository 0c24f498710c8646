"""Dialects of SQL: what sqlglot does not translate between them, one engine a file."""
