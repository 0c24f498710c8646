"""Benchmarks of the service: events and requests over HTTP."""
