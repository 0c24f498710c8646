"""Client of the running service, for commands on the same machine."""
