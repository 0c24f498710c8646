"""Decision rule: what is established at a look, and the one action that follows from it."""
