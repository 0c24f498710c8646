"""Verification of a dialect: a small shop counted by a team's own engine and by the service."""
