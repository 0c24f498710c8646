"""Rate-limit headers of answers, and accounts with a low limit."""

import httpx2

from tests.api.customers import Customer

HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


def rate_limit_of(answer: httpx2.Response) -> tuple[int, int, int]:
    """Return limit, remaining requests and seconds to the reset, from the headers."""
    limit, remaining, reset = (int(answer.headers[name]) for name in HEADERS)
    return limit, remaining, reset


def limited(customer: Customer, limit: int) -> Customer:
    customer.services.catalog.accounts.update(customer.account.id, rate_limit=limit)
    return customer
