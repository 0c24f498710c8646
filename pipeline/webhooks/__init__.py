"""Webhooks and notification channels: messages to servers and people, within limits of time and networks."""
