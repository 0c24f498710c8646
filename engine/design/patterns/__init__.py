"""Regular expressions as bounded automata, which browsers walk instead of their own engine."""
