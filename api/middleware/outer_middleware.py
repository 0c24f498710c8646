"""Middleware around every request, whichever process answers it."""

from starlette.middleware import Middleware

from api.mcp.key_in_path import KeyInPathMiddleware
from api.middleware.caching import NoStore
from api.middleware.cors import SdkCors
from api.middleware.encoded_slashes import EncodedSlashes
from api.middleware.proxies import TrustedProxies
from api.middleware.rate_limits import RateLimitHeaders
from api.middleware.request_ids import RequestIds
from pipeline.settings import Settings


def outer_middleware(settings: Settings) -> list[Middleware]:
    """List the middleware, outermost first."""
    return [
        # A path is decoded before anything compares it.
        Middleware(EncodedSlashes),
        # No other middleware sees a path with a key in it.
        Middleware(KeyInPathMiddleware),
        Middleware(TrustedProxies, networks=settings.trusted_networks),
        Middleware(RequestIds),
        Middleware(SdkCors),
        Middleware(NoStore),
        Middleware(RateLimitHeaders),
    ]
