"""Webhooks: signed messages to addresses of users, within limits of time and to permitted networks."""
