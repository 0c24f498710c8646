"""Exclusion groups in the catalog, and the slots of them that experiments have."""
