"""Calibration of every measure at one look: A/A errors on each side, and coverage."""
