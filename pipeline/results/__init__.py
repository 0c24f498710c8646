"""Results: published sums to evidence to reports and exports."""
