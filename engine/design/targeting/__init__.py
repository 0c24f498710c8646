"""Targeting: fields, rules, their evaluation, and their form for browsers."""
