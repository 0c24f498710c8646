"""The pipeline remembers: events come in, are stored, and are rolled up into moments."""
