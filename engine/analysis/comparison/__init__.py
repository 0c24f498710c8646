"""Comparison of variants with the control: effects, significance, power."""
