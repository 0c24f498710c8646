"""Scheduled jobs and the scheduler that runs them."""
