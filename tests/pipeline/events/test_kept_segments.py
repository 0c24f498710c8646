"""Kept segments are those that are derived anew, whatever was kept before."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pipeline.events.attributes import UNKNOWN_CLIENT, Client, InvalidAttributesError, segments_of
from pipeline.events.kept_segments import kept, kept_segments_of

NAMES = ["country", "device_type", "utm_medium", "traffic_source", "visitor_identity", "referrer", "plan"]
VALUES = st.sampled_from(
    [
        "",
        "de",
        "mobile",
        "cpc",
        "identified",
        "https://shop.example/",
        "https://www.google.com/",
        True,
        12,
        12.0,
        -0.0,
        10**30,
        None,
        [1],
        {"shelf": 3},
    ]
)
ATTRIBUTES = st.none() | st.dictionaries(st.sampled_from([*NAMES, "custom_dimensions"]), VALUES, max_size=4)
# A path, a query and a fragment, each of which may look like another.
PARTS = ["", "a", "utm_source=x", "gclid=1", "utm_medium=email&utm_source=%C3%A9", "a/b", "=", "#", "x" * 600]
URLS = st.none() | st.builds(
    "https://shop.example/{}{}{}{}".format,
    st.sampled_from(PARTS),
    st.sampled_from(["", "?", "#", "#?"]),
    st.sampled_from(PARTS),
    st.sampled_from(["", "?b", "#utm_medium=cpc"]),
)
CLIENTS = [
    UNKNOWN_CLIENT,
    Client.of_headers({"user-agent": "Googlebot/2.1"}),
    Client.of_headers({"accept-language": "de-AT", "cf-ipcountry": "AT"}),
]


def found_by(derive: Any, *arguments: Any, is_user: bool) -> object:
    try:
        return repr(derive(*arguments, is_user=is_user))
    except InvalidAttributesError as error:
        return str(error)


@given(ATTRIBUTES, URLS, st.sampled_from(CLIENTS), st.booleans())
def test_they_are_those_that_are_derived_anew(
    attributes: dict[str, Any] | None,
    url: str | None,
    client: Client,
    is_user: bool,  # noqa: FBT001 - drawn
) -> None:
    for _ in range(2):
        found = found_by(kept_segments_of, attributes, url, client, is_user=is_user)
        assert found == found_by(segments_of, attributes, url, client, is_user=is_user)


def test_pages_with_the_same_query_share_them() -> None:
    kept.cache_clear()
    for number in range(10):
        url = f"https://shop.example/products/{number}?utm_source=google"
        kept_segments_of({"country": "US"}, url, UNKNOWN_CLIENT, is_user=False)
    assert kept.cache_info().misses == 1


def test_equal_clients_share_them() -> None:
    clients = [Client(known=(("os", "iOS"),)), Client(known=(("os", "iOS"),))]
    kept.cache_clear()
    for client in clients:
        kept_segments_of({"country": "US"}, None, client, is_user=False)
    assert kept.cache_info().misses == 1
