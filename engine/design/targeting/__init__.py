"""Targeting: fields, rules and their evaluation."""
