"""Automatic actions: early stopping and bandit weights."""
