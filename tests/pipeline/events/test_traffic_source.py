import pytest

from pipeline.events.traffic_source import traffic_source

SHOP = "https://shop.example/"


@pytest.mark.parametrize(
    ("url", "medium", "referrer", "source"),
    [
        (SHOP, "cpc", "https://www.google.com/", "paid"),
        (SHOP, "EMAIL", None, "email"),
        (SHOP, "social", None, "social"),
        (SHOP, "affiliate", None, "affiliate"),
        (f"{SHOP}?gclid=abc", None, "https://www.google.com/", "paid"),
        (f"{SHOP}?utm_campaign=spring", None, None, "campaign"),
        (SHOP, "carrier-pigeon", None, "campaign"),
        (SHOP, None, "https://www.google.co.uk/search", "organic"),
        (SHOP, None, "https://duckduckgo.com/", "organic"),
        (SHOP, None, "https://m.facebook.com/", "social"),
        (SHOP, None, "https://t.co/abc", "social"),
        (SHOP, None, "https://blog.example/post", "referral"),
        (SHOP, None, "https://www.shop.example/cart", "direct"),
        (SHOP, None, "", "direct"),
        (SHOP, None, "http://[broken", "direct"),
        (SHOP, None, None, None),
        (None, None, None, None),
    ],
)
def test_where_a_visit_came_from(
    url: str | None, medium: str | None, referrer: str | None, source: str | None
) -> None:
    assert traffic_source(url, medium, referrer) == source
