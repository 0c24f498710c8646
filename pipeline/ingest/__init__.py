"""Ingest of events: acknowledged from the spool, loaded into the warehouse in batches."""
