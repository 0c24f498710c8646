"""Whether every method errs as rarely as it says: simulations whose truth is known."""
