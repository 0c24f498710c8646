"""Command line: one module per group of commands."""
