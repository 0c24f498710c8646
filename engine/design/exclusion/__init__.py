"""Exclusion groups: tests that share no visitor, by the slots that each takes of its group."""
