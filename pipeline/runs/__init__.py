"""Runs of projects: carried out one at a time a project, recorded, and resumed."""
