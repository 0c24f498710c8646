"""What answers tell about the requests of a minute, and accounts that have few."""

import httpx2

from tests.api.customers import Customer

HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


def told(answer: httpx2.Response) -> tuple[int, int, int]:
    """Limit, remaining and seconds to go, as an answer tells them."""
    limit, remaining, reset = (int(answer.headers[name]) for name in HEADERS)
    return limit, remaining, reset


def limited(customer: Customer, limit: int) -> Customer:
    customer.services.catalog.accounts.update(customer.account.id, rate_limit=limit)
    return customer
