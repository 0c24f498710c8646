"""Imports on the command line: files, described sources, and what is printed of them."""
