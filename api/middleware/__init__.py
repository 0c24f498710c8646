"""ASGI middleware: CORS, rate-limit headers and request ids."""
