"""Commands for the operator: backups, erasure, checks, and counts of files of events."""
