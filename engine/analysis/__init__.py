"""Analysis of experiments: from evidence to a report."""
