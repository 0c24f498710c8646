"""Commands for the operator: backups."""
