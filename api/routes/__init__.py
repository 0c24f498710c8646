"""The operations: one file per resource."""
