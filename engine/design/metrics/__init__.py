"""Metrics of a project: definitions that the goals of its experiments share."""
