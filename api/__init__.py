"""The API talks: REST, the command line, the dashboard."""
