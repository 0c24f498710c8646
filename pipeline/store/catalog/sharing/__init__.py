"""Share links of experiments in the catalog: their creation, their end, and the look-up by a token."""
