"""Effects by segment: estimates, heterogeneity and the segment report."""
