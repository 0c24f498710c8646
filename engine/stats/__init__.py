"""Statistics of arrays: moments, estimates and tests, independent of experiments."""
