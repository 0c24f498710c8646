"""Validation of input: values, records and patterns."""
