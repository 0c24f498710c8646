"""The engine decides: who sees what, and what the evidence says. No clock, disk, network or database."""
