"""Drafts of experiments as forms: fields, rows, and problems beside the fields that they are about."""
