"""Incremental counting: events of touched visitors, and links that are kept up to date."""
