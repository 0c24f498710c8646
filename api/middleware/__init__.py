"""ASGI middleware: trusted proxies, CORS, caching, rate-limit headers, request ids and encoded slashes."""
