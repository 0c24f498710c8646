"""Idempotency-Key: stored replies and the routes that replay them."""
