"""ASGI middleware: trusted proxies, CORS, rate-limit headers and request ids."""
