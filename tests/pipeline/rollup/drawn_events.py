"""Events drawn for property tests of counting: few visitors, users, ids and transactions that meet."""

from typing import Any

from hypothesis import strategies as st

from tests.examples import is_many

# Late on the evening of New York's last day of winter time: hours later the day is only 23 hours long.
MINUTES = st.integers(-30, 60 * 24 * 9)
VISITORS = st.sampled_from(["v1", "v2", "v3", "v4", "u1"])
USERS = st.sampled_from(["u1", "u2", "u3"])
SEGMENTS = st.fixed_dictionaries(
    {},
    optional={
        "device_type": st.sampled_from(["mobile", "desktop"]),
        "country": st.sampled_from(["US", "us", "DE"]),
        "visitor_type": st.sampled_from(["new", "returning"]),
        "header_fields": st.integers(0, 7),
        "custom": st.sampled_from(['{"plan":"pro"}', '{"plan":"free","tier/1":"a"}', '{"tier/1":"a"}']),
    },
)
COMMON = {
    "minute": MINUTES,
    # Few enough that senders of different kinds use the same ones.
    "event_id": st.integers(1, 120).map(str),
    "is_bot": st.sampled_from([False] * 5 + [True]),
    "sender": st.sampled_from(["browser", "browser", "server", "import", None]),
}
STEPS = st.tuples(st.integers(0, 100), st.sampled_from([None, None, 0, 1]))
RULES = st.fixed_dictionaries(
    {},
    optional={
        "attribution_window_days": st.just(2),
        "trusted_revenue": st.just(value=True),
        "exchange_rates": st.just({"EUR": 1.08}),
    },
)


def draws(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"kind": st.just(kind), **COMMON, **fields})


SHOWN = st.tuples(st.integers(0, 6), st.sampled_from([0, 0, 0, 1]))
EXPOSURES = st.builds(
    lambda event, segments: {**event, **segments},
    draws(
        "exposure",
        visitor=VISITORS,
        shown=SHOWN,
        user_id=st.sampled_from([None, None, "u1", "u2"]),
        not_counted=st.sampled_from([None] * 5 + ["experiment_paused"]),
    ),
    SEGMENTS,
)
TRACKED = st.one_of(
    draws(
        "pageview",
        visitor=VISITORS,
        url=st.sampled_from(["https://shop.example/thanks", "https://shop.example/"]),
        user_id=st.sampled_from([None, None, "u1", "u3"]),
    ),
    draws(
        "click",
        visitor=VISITORS,
        selector=st.sampled_from(["#buy", "#no"]),
        url=st.just("https://shop.example/"),
    ),
    draws(
        "custom_event",
        visitor=VISITORS,
        event_name=st.sampled_from(["purchase", "signup"]),
        value=st.sampled_from([None, 12.5]),
    ),
    draws(
        "ga4_event",
        visitor=VISITORS,
        event_name=st.just("purchase"),
        value=st.just(3.0),
        custom=st.sampled_from([None, '{"tax/net":"1.25"}', '{"tax/net":"12"}', '{"tax/net":"none"}']),
    ),
    draws("identify", visitor=VISITORS, user_id=USERS),
    *(
        st.builds(
            lambda event, segments: {**event, **segments},
            draws(
                kind,
                visitor=VISITORS,
                user_id=st.sampled_from([None, None, "u1"]),
                visitor_identity=st.sampled_from(["anonymous", "anonymous", "identified"]),
            ),
            SEGMENTS,
        )
        for kind in ("assignment", "init")
    ),
)
MONEY = {
    "revenue_cents": st.sampled_from([100, 900, 5000]),
    "currency": st.sampled_from([None, "USD", "USD", "EUR"]),
    "transaction_id": st.sampled_from([None, "t1", "t2", "t3"]),
    "is_refund": st.sampled_from([False, False, True]),
}
CONVERSIONS = st.one_of(
    draws("conversion", visitor=VISITORS, event_name=st.sampled_from(["purchase", "other"]), **MONEY),
    draws("conversion", visitor=st.none(), user_id=USERS, event_name=st.just("purchase"), **MONEY),
    draws(
        "conversion",
        visitor=VISITORS,
        goal=st.tuples(st.sampled_from([0, 1, 4]), st.sampled_from([0, 1, 2, 3, 4, 7, 8])),
        **MONEY,
    ),
)
EVENTS = st.lists(
    st.one_of(EXPOSURES, EXPOSURES, TRACKED, CONVERSIONS, CONVERSIONS), min_size=15, max_size=60
)
if not is_many():
    # The first example of Hypothesis is the simplest one: where there is one only, it has to be a fuller one.
    EVENTS = EVENTS.filter(
        lambda drawn: (
            len(drawn) > 25
            and len({one["kind"] for one in drawn}) > 5
            and [one["kind"] for one in drawn].count("exposure") > 4
        )
    )
