"""Endpoints for the operator of the service, outside of all accounts and of the described API."""
