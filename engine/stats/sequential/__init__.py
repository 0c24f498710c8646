"""Sequential tests: boundaries, intervals and p values for several looks."""
