"""Collector processes: requests with events are decoded on several cores, and stored by the owner."""
