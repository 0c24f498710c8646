from datetime import UTC, datetime
from typing import Any

from engine.design.targeting.fields import TARGETING_FIELDS
from pipeline.assignment.targeting_attributes import Visitor, targeting_attributes
from pipeline.events.attributes import Client

# A Monday in New York, and already Tuesday in UTC.
NOW = datetime(2026, 3, 3, 2, 30, tzinfo=UTC)


def attributes(given: dict[str, Any] | None = None, **visitor: Any) -> dict[str, Any]:
    somebody = Visitor(
        visitor_id="v1",
        user_id=visitor.get("user_id"),
        url=visitor.get("url"),
        attributes=given or {},
        client=visitor.get("client", Client()),
        city=visitor.get("city"),
    )
    return targeting_attributes(somebody, timezone="America/New_York", now=NOW)


def test_every_field_of_targeting_is_there() -> None:
    assert set(attributes()) == set(TARGETING_FIELDS)


def test_day_and_hour_are_the_projects() -> None:
    assert (attributes()["day_of_week"], attributes()["hour_of_day"]) == ("monday", 21)


def test_the_pages_address_tells_parameters_and_campaign() -> None:
    known = attributes(url="https://shop.example/?ref=a&utm_source=google&empty=")
    assert known["query_param"] == {"ref": "a", "utm_source": "google", "empty": ""}
    assert known["utm_source"] == "google"


def test_cookies_and_dimensions_are_families() -> None:
    known = attributes({"cookies": {"seen": "1"}, "plan": "pro", "custom_dimensions": {"tier": "gold"}})
    assert known["cookie"] == {"seen": "1"}
    assert known["custom_dimension"] == {"plan": "pro", "tier": "gold"}


def test_who_signed_in_is_identified() -> None:
    assert attributes()["visitor_identity"] == "anonymous"
    assert attributes(user_id="u1")["visitor_identity"] == "identified"


def test_the_request_tells_what_the_sender_does_not() -> None:
    known = attributes({"language": "fr"}, client=Client.of_headers({"cf-ipcountry": "CA"}))
    assert (known["country"], known["language"]) == ("CA", "fr")


def test_a_broken_address_tells_nothing() -> None:
    assert attributes(url="http://[broken?x=1")["query_param"] == {}


def test_what_the_sender_says_of_city_and_language_wins_over_the_request() -> None:
    told = {"city": "Munich", "client": Client.of_headers({"accept-language": "de-AT,en;q=0.5"})}
    known = attributes({}, **told)
    assert (known["city"], known["language"]) == ("Munich", "de-AT")
    known = attributes({"city": "Linz", "language": "en"}, **told)
    assert (known["city"], known["language"]) == ("Linz", "en")
    assert (attributes()["city"], attributes()["language"]) == (None, None)
