"""Requests that need both the catalog and the rules of design."""
