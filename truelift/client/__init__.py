"""Client for servers: decisions without a request, and events sent in the background."""
