"""Runs of projects in the catalog: their records, and the queue of those to come."""
