"""Goals in the rollup: the events that match them, and the money and amounts that count."""
