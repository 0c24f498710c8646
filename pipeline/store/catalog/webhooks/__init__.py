"""Webhooks and notification channels of projects in the catalog, and the messages that wait for them."""
