"""Calibration: error rates of every method by simulation."""
