"""Results of a remote service, read over REST."""
