import json
from dataclasses import replace as changed
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.validation.sent_ids import JUNK_IDS
from pipeline.events.attributes import Client
from pipeline.events.browser_money import BrowserMoney
from pipeline.events.decode import DecodedEvents, RequestContext, decode_conversions, decode_tracked
from pipeline.events.hashing import hash64
from pipeline.events.project_ids import ProjectIds
from pipeline.events.rejections import CODES
from pipeline.store.event_columns import Sender
from tests.builders import a_goal, a_project, an_experiment
from tests.pipeline.events.event_bodies import read_body

# 2026-03-01T09:30:00Z.
RECEIVED = 1_772_357_400_000_000
EXPERIMENT = an_experiment(status="running")
RECEPTION = RequestContext(RECEIVED, ProjectIds.of([EXPERIMENT], a_project()), "server")
EXPOSURE = {
    "event_id": "e1",
    "type": "exposure",
    "visitor_id": "v1",
    "experiment_id": "exp_1",
    "variant_id": "var_1",
}
PAGEVIEW = {"event_id": "e1", "type": "pageview", "visitor_id": "v1", "url": "https://shop.example/"}
ORDER = {"event_id": "e1", "visitor_id": "v1", "goal_id": "goal_1"}


def tracked(*events: object, reception: RequestContext = RECEPTION, **around: Any) -> DecodedEvents:
    return decode_tracked(read_body(json.dumps({"batch": events, **around}).encode()), reception)


def converted(*events: object) -> DecodedEvents:
    return decode_conversions(read_body(json.dumps({"batch": events}).encode()), RECEPTION)


def exposure(**fields: object) -> dict[str, object]:
    return {**EXPOSURE, **fields}


def order(**fields: object) -> dict[str, object]:
    return {**ORDER, **fields}


def test_an_exposure_becomes_a_row() -> None:
    read = tracked(exposure(timestamp="2026-03-01T09:29:00Z", attributes={"country": "US", "plan": "pro"}))
    (row,) = read.rows
    assert (row.event_id, row.type, row.experiment_id, row.variant_id) == (
        "e1",
        "exposure",
        "exp_1",
        "var_1",
    )
    assert (row.received_at, row.occurred_at) == (RECEIVED, RECEIVED - 60_000_000)
    assert (row.visitor_id, row.visitor_key) == ("v1", hash64("v1"))
    assert (row.country, row.custom, row.visitor_identity) == ("US", '{"plan":"pro"}', "anonymous")
    assert [(result.event_id, result.status, result.code) for result in read.results] == [("e1", "ok", None)]


def test_a_late_exposure_is_stored_and_told_not_to_count() -> None:
    read = tracked(exposure(late=True), exposure(late=False), {**PAGEVIEW, "late": True}, exposure(late=1))
    assert [row.not_counted for row in read.rows] == ["late", None, None]
    codes = [result.code for result in read.results]
    assert codes == ["not_counted", None, None, "invalid_event"]
    assert "before the script came" in (read.results[0].message or "")


@pytest.mark.parametrize(
    ("event", "column", "value"),
    [
        ({"type": "pageview", "url": "https://shop.example/"}, "url", "https://shop.example/"),
        ({"type": "click", "selector": "#buy"}, "selector", "#buy"),
        ({"type": "custom_event", "event_name": "signup", "value": 2.5}, "value", 2.5),
        ({"type": "ga4_event", "event_name": "purchase"}, "event_name", "purchase"),
        ({"type": "identify", "user_id": "u1"}, "user_key", hash64("u1")),
    ],
)
def test_each_other_type_becomes_a_row(event: dict[str, object], column: str, value: object) -> None:
    (row,) = tracked({"event_id": "e1", "visitor_id": "v1", **event}).rows
    assert getattr(row, column) == value


def test_a_conversion_becomes_a_row() -> None:
    (row,) = converted(order(revenue_cents=1999, currency="eur", transaction_id="t1", user_id="u1")).rows
    assert (row.type, row.goal_id, row.revenue_cents, row.currency) == ("conversion", "goal_1", 1999, "EUR")
    assert (row.transaction_key, row.user_key) == (hash64("t1"), hash64("u1"))
    assert (row.is_refund, row.visitor_identity) == (False, "identified")


def test_a_conversion_of_a_user_has_the_users_key_until_the_visitor_is_known() -> None:
    (row,) = converted({"event_id": "e1", "user_id": "u1", "event_name": "purchase"}).rows
    assert (row.visitor_id, row.visitor_key, row.user_id) == (None, hash64("u1"), "u1")


def test_a_refund_is_marked() -> None:
    (row,) = converted(order(kind="refund", revenue_cents=500)).rows
    assert (row.is_refund, row.revenue_cents) == (True, 500)


# Every code, with events that get it.
REJECTED_WHEN_TRACKED: list[tuple[object, str]] = [
    ("text", "invalid_event"),
    (None, "invalid_event"),
    ([], "invalid_event"),
    (exposure(url=5), "invalid_event"),
    (exposure(variant_id=None), "invalid_event"),
    ({"event_id": "e1", "visitor_id": "v1", "type": "pageview"}, "invalid_event"),
    ({"event_id": "e1", "visitor_id": "v1", "type": "click"}, "invalid_event"),
    ({"event_id": "e1", "visitor_id": "v1", "type": "custom_event", "event_name": ""}, "invalid_event"),
    (exposure(url="https://shop.example/" + "x" * 8000), "invalid_event"),
    (exposure(attributes={"note": "x" * 32 * 1024}), "event_too_large"),
    (exposure(event_id=None), "invalid_event_id"),
    (exposure(event_id=17), "invalid_event_id"),
    (exposure(event_id="x" * 201), "invalid_event_id"),
    (exposure(visitor_id="  "), "invalid_visitor_id"),
    (exposure(visitor_id=17), "invalid_visitor_id"),
    (exposure(visitor_id="x" * 201), "invalid_visitor_id"),
    (exposure(user_id="undefined"), "invalid_user_id"),
    (exposure(type="purchase"), "invalid_type"),
    (exposure(type=None), "invalid_type"),
    (exposure(type="assignment"), "invalid_type"),
    (exposure(timestamp="noon"), "invalid_timestamp"),
    (exposure(timestamp={}), "invalid_timestamp"),
    (exposure(timestamp="2026-01-01T00:00:00Z"), "timestamp_too_old"),
    (exposure(experiment_id="exp_9"), "unknown_experiment"),
    (exposure(variant_id="var_9"), "unknown_variant"),
    (exposure(value=1e16), "invalid_value"),
    (exposure(value="12"), "invalid_value"),
    (exposure(attributes={"plan": []}), "invalid_attributes"),
    (exposure(attributes=[]), "invalid_attributes"),
]
REJECTED_CONVERSIONS: list[tuple[object, str]] = [
    ({"event_id": "e1", "visitor_id": "v1"}, "invalid_event"),
    ({"event_id": "e1", "goal_id": "goal_1"}, "invalid_visitor_id"),
    (order(visitor_id="NaN"), "invalid_visitor_id"),
    (order(user_id="null"), "invalid_user_id"),
    (order(goal_id="goal_9"), "unknown_goal"),
    (order(transaction_id="undefined"), "invalid_transaction_id"),
    (order(kind="gift"), "invalid_type"),
    (order(revenue_cents=-1), "invalid_value"),
    (order(revenue_cents=10**12 + 1), "invalid_value"),
    (order(revenue_cents=10**30), "invalid_value"),
    (order(revenue_cents=19.99), "invalid_value"),
    (order(revenue_cents="1999"), "invalid_value"),
    (order(kind="refund"), "invalid_value"),
    (order(currency="dollars"), "invalid_currency"),
    (order(currency="€€€"), "invalid_currency"),
]


@pytest.mark.parametrize(("event", "code"), REJECTED_WHEN_TRACKED)
def test_a_bad_event_gets_its_code_and_sinks_nothing_else(event: object, code: str) -> None:
    read = tracked(exposure(event_id="before"), event, exposure(event_id="after"))
    assert [result.status for result in read.results] == ["ok", "rejected", "ok"]
    assert read.results[1].code == code
    assert read.results[1].message
    assert [row.event_id for row in read.rows] == ["before", "after"]


@pytest.mark.parametrize(("event", "code"), REJECTED_CONVERSIONS)
def test_a_bad_conversion_gets_its_code_and_sinks_nothing_else(event: object, code: str) -> None:
    read = converted(order(event_id="before"), event, order(event_id="after"))
    assert [result.code for result in read.results] == [None, code, None]
    assert [row.event_id for row in read.rows] == ["before", "after"]


def test_every_code_is_tried_here() -> None:
    tried = {code for _, code in REJECTED_WHEN_TRACKED + REJECTED_CONVERSIONS}
    # The tests of browser_money.py try the last two.
    assert tried | {"excluded_address", "untrusted_revenue", "amount_too_large"} == set(CODES)


def test_an_excluded_address_stores_nothing() -> None:
    read = tracked(
        exposure(), reception=RequestContext(RECEIVED, RECEPTION.project_ids, "browser", is_excluded=True)
    )
    assert (read.rows, [result.code for result in read.results]) == ([], ["excluded_address"])


@pytest.mark.parametrize("junk", sorted(JUNK_IDS))
def test_junk_ids_are_rejected(junk: str) -> None:
    read = tracked(exposure(visitor_id=junk), exposure(event_id=junk))
    assert [result.code for result in read.results] == ["invalid_visitor_id", "invalid_event_id"]


def test_32_kib_are_an_events_limit() -> None:
    empty = len(json.dumps(exposure(attributes={"user_agent": ""})))
    fitting = exposure(attributes={"user_agent": "x" * (32 * 1024 - empty)})
    larger = exposure(attributes={"user_agent": "x" * (32 * 1024 - empty + 1)})
    assert [result.code for result in tracked(fitting, larger).results] == [None, "event_too_large"]


def test_an_event_with_bytes_that_are_no_text_is_rejected_alone() -> None:
    body = json.dumps({"batch": [exposure(), exposure(url="HERE")]}).encode().replace(b"HERE", b"\xff")
    read = decode_tracked(read_body(body), RECEPTION)
    assert [result.code for result in read.results] == [None, "invalid_event"]


def test_control_characters_are_kept_as_they_came() -> None:
    (row,) = tracked(exposure(visitor_id="a\x00b\x1b")).rows
    assert row.visitor_id == "a\x00b\x1b"


def test_a_repeated_event_is_stored_again_and_counted_once_later() -> None:
    assert len(tracked(exposure(), exposure()).rows) == 2


def test_a_wrong_clock_is_corrected_by_sent_at() -> None:
    # The sender's clock is an hour fast; it sent this one minute after it happened.
    read = tracked(exposure(timestamp="2026-03-01T10:30:00Z"), sent_at="2026-03-01T10:31:00Z")
    assert read.rows[0].occurred_at == RECEIVED - 60_000_000


def test_a_known_bot_is_stored_and_flagged() -> None:
    client = Client.of_headers({"user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1)"})
    read = tracked(exposure(), reception=RequestContext(RECEIVED, RECEPTION.project_ids, "browser", client))
    assert [row.is_bot for row in read.rows] == [True]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_is_sent_is_answered(anything: object) -> None:
    fields = ("event_id", "type", "visitor_id", "timestamp", "url", "value", "attributes", "experiment_id")
    read = tracked(anything, *(exposure(**{field: anything}) for field in fields), exposure())
    assert len(read.results) == len(fields) + 2
    assert read.results[-1].status == "ok"
    assert read.rejected == sum(result.status == "rejected" for result in read.results)


def test_the_kind_of_sender_is_stored_with_every_event() -> None:
    from_browser = replace(RECEPTION, sender="browser")
    body = read_body(json.dumps({"batch": [ORDER]}).encode())
    assert [row.sender for row in tracked(EXPOSURE).rows] == ["server"]
    assert [row.sender for row in tracked(EXPOSURE, reception=from_browser).rows] == ["browser"]
    assert [row.sender for row in decode_conversions(body, from_browser).rows] == ["browser"]


CONVERSION_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "event_id": st.sampled_from(["e1", "undefined", "", None, 7]),
    "visitor_id": st.sampled_from(["v1", "null", None, 7]),
    "user_id": st.sampled_from(["u1", "undefined", None]),
    "goal_id": st.sampled_from(["goal_1", "goal_9", None]),
    "event_name": st.sampled_from(["purchase", "x" * 300, None, 7]),
    "revenue_cents": st.sampled_from([0, 1999, -1, 10**18, 1.5, "12", None]),
    "currency": st.sampled_from(["EUR", "euro", None, 7]),
    "transaction_id": st.sampled_from(["t1", "undefined", None, 7]),
    "kind": st.sampled_from(["conversion", "refund", "gift", None]),
    "timestamp": st.sampled_from(["2026-03-01T09:29:00Z", "yesterday", 1_772_357_000_000, None]),
    "attributes": st.sampled_from([{"country": "US", "plan": "pro"}, {"a": {}}, None, 7]),
    # Of other events alone.
    "url": st.sampled_from(["/cart", 7]),
    "value": st.sampled_from([1.5, "much"]),
    "experiment_id": st.sampled_from(["exp_1", 7]),
}


@given(
    events=st.lists(st.fixed_dictionaries({}, optional=CONVERSION_VALUES), min_size=1, max_size=3),
    sender=st.sampled_from(["server", "browser"]),
    is_trusted=st.booleans(),
)
def test_a_conversion_is_decoded_by_track_as_by_convert(
    events: list[dict[str, Any]], sender: Sender, *, is_trusted: bool
) -> None:
    money = BrowserMoney(100_000, "USD", is_refused=is_trusted) if sender == "browser" else None
    context = RequestContext(RECEIVED, RECEPTION.project_ids, sender, browser_money=money)
    by_convert = decode_conversions(read_body(json.dumps({"batch": events}).encode()), context)
    typed = [{**event, "type": "conversion"} for event in events]
    assert tracked(*typed, reception=context) == by_convert


def test_a_conversion_stands_among_other_events() -> None:
    read = tracked(
        exposure(), order(event_id="e2", type="conversion", revenue_cents=500), exposure(event_id="e3")
    )
    assert [(row.event_id, row.type, row.revenue_cents) for row in read.rows] == [
        ("e1", "exposure", None),
        ("e2", "conversion", 500),
        ("e3", "exposure", None),
    ]


def test_a_conversion_that_names_a_member_twice_is_rejected_alone() -> None:
    twice = b'{"event_id":"e2","type":"conversion","visitor_id":"v1","goal_id":"goal_1","goal_id":"goal_1"}'
    body = b'{"batch":[' + json.dumps(order(type="conversion")).encode() + b"," + twice + b"]}"
    read = decode_tracked(read_body(body), RECEPTION)
    assert [result.code for result in read.results] == [None, "invalid_event"]


def test_an_order_that_no_revenue_goal_counts_in_its_currency_says_so() -> None:
    revenue = a_goal(id="goal_r", goal_type="revenue")
    others = a_goal(id="goal_s", goal_type="revenue", config={"currency": "SEK"}, is_primary=False)
    running = an_experiment(status="running", goals=(revenue, others))
    ended = an_experiment(status="completed", goals=(changed(revenue, config={"currency": "GBP"}),))
    project = a_project(settings={"exchange_rates": {"EUR": 1.08}})
    context = RequestContext(RECEIVED, ProjectIds.of([running, ended], project), "server")
    given = [
        *("USD", "EUR", "SEK", None),
        *("GBP", "JPY"),
    ]
    sale = {"goal_id": None, "event_name": "purchase", "revenue_cents": 100}
    batch = [order(**sale, event_id=f"o{place}", currency=one) for place, one in enumerate(given)]
    batch.append(order(**{**sale, "event_name": "signup"}, event_id="named", currency="GBP"))
    decoded = decode_conversions(read_body(json.dumps({"batch": batch}).encode()), context)
    assert [one.status for one in decoded.results] == ["ok"] * 7
    assert [one.code for one in decoded.results] == [*[None] * 4, *["other_currency"] * 2, None]
    assert "they count EUR, SEK, USD" in str(decoded.results[4].message)
    assert len(decoded.rows) == 7


def test_money_of_a_custom_event_is_its_value_in_minor_units() -> None:
    project = a_project(settings={"revenue_currency": "JPY"})
    context = RequestContext(RECEIVED, ProjectIds.of([EXPERIMENT], project), "server")
    sale = {"type": "custom_event", "visitor_id": "v1", "event_name": "purchase"}
    batch = [
        {**sale, "event_id": "e1", "revenue_cents": 1200},
        {**sale, "event_id": "e2", "revenue_cents": 1234, "currency": "kwd"},
        {**sale, "event_id": "e3", "value": 1200, "revenue_cents": 1200},
        {**sale, "event_id": "e4", "revenue_cents": 1200, "currency": "yen!"},
        {**sale, "event_id": "e5", "revenue_cents": -1},
        {**sale, "event_id": "e6", "value": 7, "currency": "EUR"},
        {**sale, "event_id": "e7", "revenue_cents": 5, "type": "pageview", "url": "https://x.example/"},
    ]
    read = decode_tracked(read_body(json.dumps({"batch": batch}).encode()), context)
    assert [(row.value, row.revenue_cents, row.currency) for row in read.rows] == [
        (1200.0, 1200, "JPY"),
        (1.234, 1234, "KWD"),
        (7.0, None, None),
        (None, None, None),
    ]
    codes = [one.code for one in read.results]
    assert codes == [None, None, "invalid_value", "invalid_currency", "invalid_value", None, None]
