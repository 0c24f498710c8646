"""Simulated visitors, bandits and shops with known effects."""
