"""Erasure of persons: every holder of personal texts, and the removal of a person from each."""
