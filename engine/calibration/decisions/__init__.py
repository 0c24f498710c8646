"""Calibration of decisions: simulated tests judged by the decision rule at every look of their lives."""
