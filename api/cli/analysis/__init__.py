"""Analyses on the command line: results as tables, exit statuses, and sample sizes."""
