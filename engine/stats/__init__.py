"""Statistics of arrays: moments, estimates and tests that know no experiment."""
