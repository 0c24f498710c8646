"""Where everything is kept: the only place with SQL."""
