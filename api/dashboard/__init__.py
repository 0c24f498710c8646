"""The dashboard: pages at `/`, over the operations of the API."""
