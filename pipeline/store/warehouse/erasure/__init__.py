"""Erasure: the ids of a person, and the removal of the person's events and rows."""
