"""Metrics of projects in the catalog, and the drafts that follow their newest versions."""
