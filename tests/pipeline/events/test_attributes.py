from typing import Any

import pytest

from pipeline.events.attributes import (
    UNKNOWN_CLIENT,
    Client,
    InvalidAttributesError,
    segments_of,
)
from pipeline.store.event_columns import HEADER_BITS

PHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/17.5 Mobile/15E148 Safari/604.1"
)


def segments(
    attributes: dict[str, Any] | None, url: str | None = None, client: Client = UNKNOWN_CLIENT
) -> dict[str, Any]:
    return segments_of(attributes, url, client, is_user=False).columns()


def test_nothing_given_is_nothing_known() -> None:
    found = segments(None, "https://shop.example/")
    assert not found["is_bot"]
    derived = {"is_bot", "header_fields", "visitor_identity"}
    assert {value for name, value in found.items() if name not in derived} == {None}


def test_the_request_tells_device_and_place() -> None:
    client = Client.of_headers({"user-agent": PHONE, "cf-ipcountry": "ca", "cf-region-code": "QC"})
    found = segments(None, None, client)
    assert (found["device_type"], found["os"], found["browser"]) == ("mobile", "iOS", "Mobile Safari")
    assert (found["country"], found["region"]) == ("CA", "QC")


def test_what_the_sender_says_wins_over_the_request() -> None:
    client = Client.of_headers({"user-agent": PHONE, "cf-ipcountry": "CA"})
    found = segments({"device_type": "Desktop", "country": "us", "browser": "Kiosk"}, None, client)
    assert (found["device_type"], found["country"], found["browser"]) == ("desktop", "US", "Kiosk")
    assert found["os"] == "iOS"


def test_the_language_is_that_of_the_sender_or_else_the_one_that_the_browser_prefers() -> None:
    client = Client.of_headers({"accept-language": "en;q=0.5, de-at"})
    assert segments(None, None, client)["language"] == "de-AT"
    assert segments({"language": "PT-br"}, None, client)["language"] == "pt-BR"
    assert segments({"language": " Suomi "})["language"] == "Suomi"
    assert segments({"language": 7, "plan": "pro"})["custom"] == '{"plan":"pro"}'


def test_a_server_may_pass_on_its_visitors_user_agent() -> None:
    assert segments({"user_agent": PHONE})["device_type"] == "mobile"
    assert segments({"user_agent": "Googlebot/2.1"})["is_bot"]


def test_a_network_that_does_not_know_the_country_says_nothing() -> None:
    assert Client.of_headers({"cf-ipcountry": "XX"}).by_name["country"] is None


def test_utm_parameters_come_from_the_url_unless_given() -> None:
    url = "https://shop.example/?utm_source=google&utm_medium=cpc&utm_campaign=spring%20sale#utm_source=no"
    found = segments({"utm_source": "bing"}, url)
    assert (found["utm_source"], found["utm_medium"], found["utm_campaign"]) == ("bing", "cpc", "spring sale")
    assert found["traffic_source"] == "paid"


def test_an_empty_referrer_is_a_direct_visit() -> None:
    assert segments({"referrer": ""}, "https://shop.example/")["traffic_source"] == "direct"


@pytest.mark.parametrize("value", ["toaster", "", 7, None])
def test_a_device_that_reports_do_not_know_is_left_out(value: object) -> None:
    assert segments({"device_type": value})["device_type"] is None


def test_every_other_attribute_is_a_custom_dimension() -> None:
    found = segments({"plan": "pro", "seats": 5, "beta": True, "country": "US", "none": None})
    assert found["custom"] == '{"beta":"true","plan":"pro","seats":"5"}'


def test_custom_dimensions_may_come_in_an_object_of_their_own() -> None:
    assert segments({"custom_dimensions": {"plan": "pro"}})["custom"] == '{"plan":"pro"}'


def test_long_values_are_cut() -> None:
    assert len(segments({"region": "x" * 5000})["region"] or "") == 256


@pytest.mark.parametrize(
    "attributes",
    [
        {"plan": {"name": "pro"}},
        {"plan": ["pro"]},
        {"custom_dimensions": "pro"},
        {f"key_{number}": "x" for number in range(51)},
    ],
)
def test_what_is_no_flat_object_of_few_values_is_refused(attributes: dict[str, Any]) -> None:
    with pytest.raises(InvalidAttributesError):
        segments(attributes)


def test_segments_that_only_headers_give_are_marked() -> None:
    client = Client.of_headers({"user-agent": PHONE, "cf-ipcountry": "CA"})
    # Stored events hold them.
    bits = {"device_type": 1, "os": 2, "country": 4, "region": 8, "browser": 16, "language": 32}
    assert bits == HEADER_BITS
    for name, bit in bits.items():
        alone = segments({name: "desktop"}, None, client)
        assert alone["header_fields"] == sum(bits.values()) - bit
    assert segments(None, None, client)["header_fields"] == sum(bits.values())
    stated = segments({"device_type": "desktop", "country": "us"}, None, client)["header_fields"]
    assert stated == bits["os"] + bits["region"] + bits["browser"] + bits["language"]
    by_agent = segments({"user_agent": PHONE})["header_fields"]
    assert by_agent == bits["country"] + bits["region"] + bits["language"]


@pytest.mark.parametrize(
    ("attributes", "user_id", "identity"),
    [
        (None, None, "anonymous"),
        (None, "u1", "identified"),
        ({"visitor_identity": "Identified"}, None, "identified"),
        ({"visitor_identity": "anonymous"}, "u1", "identified"),
        ({"visitor_identity": "perhaps"}, None, "anonymous"),
    ],
)
def test_a_user_id_or_an_attribute_identifies(
    attributes: dict[str, Any] | None, user_id: str | None, identity: str
) -> None:
    found = segments_of(attributes, None, UNKNOWN_CLIENT, is_user=user_id is not None)
    assert found.columns()["visitor_identity"] == identity
