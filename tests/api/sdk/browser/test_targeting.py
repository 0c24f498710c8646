"""Parity of decisions: the browser gives a visitor the variant that the server gives."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.experiment import Experiment, UrlRule
from engine.design.pages import covers_page
from engine.design.targeting.evaluation import compile_targeting
from engine.design.targeting.fields import TARGETING_FIELDS, VALUES_OF_OPERATOR
from engine.design.targeting.rules import targeting_rules
from engine.validation.patterns import url_pattern_problem
from pipeline.assignment.browser_config import browser_config, facts_of
from pipeline.assignment.decide import AssignmentRequest, decide
from pipeline.assignment.targeting_attributes import Visitor, targeting_attributes
from pipeline.events.attributes import Client
from tests.api.sdk.browser.javascript import JavaScript, javascript
from tests.builders import a_project, an_experiment, targeting_of
from tests.examples import examples

IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Mobile Safari/604.1"
PLACES: tuple[dict[str, str], ...] = (
    {},
    {"cf-ipcountry": "de", "cf-region-code": "BE"},
    {"user-agent": IPHONE},
)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "Pacific/Chatham"])
# What rules compare with, and visitors have: equal by case, by number, by part, or not at all.
TEXTS = (
    *("de", "DE", "Berlin", "be", "mobile", "Safari", "iOS", "new", "returning", "identified", "anonymous"),
    *("google", "Mail ", "cpc", "", "7", "07", "7.0", "-0.5", "1e3", "true", "ÉTÉ", "été", "x=1", "😀", "İ"),
    *("a\u2028b", "\ufeffx", "\x1cx\x85", "long" * 80, "monday", "https://shop.example/a?b=1"),
)
# Rules take no control characters.
RULE_TEXTS = tuple(text for text in TEXTS if "\x1c" not in text)
KEYS = st.sampled_from(["plan", "a", "utm_source", "__proto__", "constructor", "toString"])
PATTERNS = st.sampled_from(["^d", "e$", "(a+)+$", r"\d", "shop|mail", ".", "", "é", r"^\w+$", "[^a-z]"])
HOSTS = (
    "shop.example",
    "SHOP.example:443",
    "www.google.de",
    "t.co",
    "m.facebook.com",
    "[::1]",
    "a@b.example",
)
URLS = st.builds(
    "https://{}{}{}{}".format,
    st.sampled_from(HOSTS),
    st.sampled_from(["", "/", "/a", "/a/", "/caf%C3%A9", "/%C3", "/utm_", "/x/gclid=1", "/%zz", "/a%2Fb"]),
    st.lists(
        st.sampled_from(
            [
                *("a=1", "b=1", "a=", "a", "a=b=c", "a%3Db=c", "plan=%F0%9F%98%80", "plan=a+b", "x=%C3"),
                *("utm_source=Google", "utm_medium=CPC", "utm_medium=", "utm_campaign=%20x", "gclid=1"),
                *("__proto__=7", "constructor=7", "utm_medium=email", "utm_term=1", "", "a=~*%2A", "%zz=1"),
            ]
        ),
        max_size=4,
    ).map(lambda pairs: f"?{'&'.join(pairs)}" if pairs else ""),
    st.sampled_from(["", "#a", "#/a?utm_source=x", "#!/b"]),
)
SCALARS = (
    st.sampled_from(TEXTS)
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer())
)

NESTED = st.dictionaries(KEYS, st.none() | SCALARS, max_size=3)
NAMES = (*TARGETING_FIELDS, "plan", "a", "__proto__")
CUSTOM_OBJECTS = ("custom_dimension", "custom_dimensions", "cookies", "query_params")


@st.composite
def conditions(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(list(TARGETING_FIELDS)))
    field = TARGETING_FIELDS[name]
    operator = draw(st.sampled_from(field.operators))
    least, most = VALUES_OF_OPERATOR[operator]
    number = st.sampled_from(["7", "07", "7.0", "-0", "12.5", "23", "0"])
    values = PATTERNS if operator == "regex" else st.sampled_from(field.enum_values or RULE_TEXTS)
    if field.data_type == "number" or operator in {"gt", "gte", "lt", "lte"}:
        values = number
    drawn = draw(st.lists(values, min_size=least, max_size=min(most, 3), unique=True))
    condition = {"field": name, "operator": operator, "values": drawn}
    return {**condition, "key": draw(KEYS)} if field.requires_key else condition


def group(children: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    several = st.builds(
        lambda operator, found: {"operator": operator, "children": found},
        st.sampled_from(["and", "or"]),
        st.lists(children, min_size=1, max_size=3),
    )
    return several | children.map(lambda child: {"operator": "not", "children": [child]})


ROOTS = group(conditions() | group(conditions() | group(conditions())))
RULES = ROOTS.map(lambda root: {"version": 2, "root": root})


@st.composite
def attributes(draw: st.DrawFn) -> dict[str, Any]:
    given_attributes = draw(st.dictionaries(st.sampled_from(NAMES), SCALARS, max_size=5))
    objects = draw(st.dictionaries(st.sampled_from(CUSTOM_OBJECTS), NESTED, max_size=2))
    return {"referrer": draw(st.sampled_from([*TEXTS, *(f"https://{host}/" for host in HOSTS)]))} | {
        name: value
        for name, value in (given_attributes | objects).items()
        # A flat value here is refused by the server, and no object of dimensions to the browser.
        if name != "custom_dimension" or isinstance(value, dict)
    }


@st.composite
def attributes_near(draw: st.DrawFn, condition: dict[str, Any]) -> dict[str, Any]:
    """Draw attributes, most of them with one like a value of the condition."""
    given_attributes: dict[str, Any] = draw(attributes())
    if not condition["values"] or not draw(st.integers(0, 3)):
        return given_attributes
    value = draw(st.sampled_from(condition["values"]))
    near = draw(st.sampled_from([value, value.upper(), value.lower(), f" {value}x", f"x{value}"]))
    name, key = condition["field"], condition.get("key")
    containers = {"cookie": "cookie", "query_param": "query_param", "custom_dimension": "custom_dimensions"}
    return given_attributes | {containers.get(name, name): {key: near} if key else near}


@st.composite
def page_rules(draw: st.DrawFn, url: str) -> dict[str, Any]:
    """Draw rules for pages, most of them like the URL."""

    def a_value() -> tuple[str, str]:
        match_type = draw(
            st.sampled_from(["exact", "starts_with", "ends_with", "contains", "wildcard", "regex"])
        )
        if match_type == "regex":
            return match_type, draw(PATTERNS.filter(bool))
        start = draw(st.sampled_from([0, len("https://"), max(0, url.find("/", 8))]))
        part = url[start : draw(st.integers(start + 1, len(url)))] or "/"
        if url_pattern_problem(match_type, part):
            match_type = "contains"
        return match_type, part.replace("a", "*") if match_type == "wildcard" else part

    match_type, value = a_value()
    rules = []
    for kind in draw(st.lists(st.sampled_from(["include", "include", "exclude"]), max_size=2)):
        rule_type, rule_value = a_value()
        rules.append(UrlRule(type=kind, match_type=rule_type, value=rule_value))  # type: ignore[arg-type]
    return {"url": value, "url_match_type": match_type, "url_rules": tuple(rules)}


@pytest.fixture(scope="module")
def script() -> Iterator[JavaScript]:
    with javascript() as running:
        yield running


def config_of(zone: str, *experiments: Experiment) -> dict[str, Any]:
    config = browser_config(a_project(reporting_timezone=zone), experiments, sdk_key="pk")
    return dict(msgspec.json.decode(msgspec.json.encode(config)))


@examples(15, 200)
@given(
    rules=st.lists(RULES, min_size=1, max_size=4),
    zone=ZONES,
    url=URLS,
    user_id=st.none() | st.just("u1"),
    given_attributes=attributes(),
    headers=st.sampled_from(PLACES),
    now=st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001 - made UTC below
    data=st.data(),
)
def test_browser_gives_the_variant_that_the_server_gives(  # noqa: PLR0917 - drawn by name
    script: JavaScript,
    rules: list[dict[str, Any]],
    zone: str,
    url: str,
    user_id: str | None,
    given_attributes: dict[str, Any],
    headers: dict[str, str],
    now: datetime,
    data: st.DataObject,
) -> None:
    assert all(not list(targeting_rules(rule)) for rule in rules)
    now = now.replace(tzinfo=UTC)
    visitor_id = data.draw(st.text(max_size=8) | st.sampled_from(["\ud800", "a\udc00b", "😀", "\x00"]))
    experiments = [
        an_experiment(
            id=f"exp_{number}",
            status=data.draw(st.sampled_from(["running", "running", "paused"])),
            traffic_allocation=data.draw(st.sampled_from([100, 100, 50])),
            weights=(1, 0, 2),
            targeting_rules=rule,
            **(
                data.draw(page_rules(url))
                if data.draw(st.booleans())
                else {"url": "https", "url_match_type": "contains"}
            ),
        )
        for number, rule in enumerate(rules)
    ]
    stored = {"exp_0": "var_1"} if data.draw(st.booleans()) else {}
    client = Client.of_headers(headers)
    visitor = Visitor(
        visitor_id=visitor_id,
        user_id=user_id,
        url=url,
        attributes=given_attributes,
        client=client,
        city="Berlin",
    )
    found = targeting_attributes(visitor, timezone=zone, now=now)
    request = AssignmentRequest(visitor=visitor, attributes=found, forced={})
    decided = [
        made.experiment.variants.index(made.variant)
        if made.variant and covers_page(made.experiment, url)
        else None
        for made in decide(request, experiments, targeting_of, stored)
    ]
    config = {**config_of(zone, *experiments), "facts": facts_of(client, "Berlin")}
    visit = {"visitor_id": visitor_id, "user_id": user_id, "url": url, "attributes": given_attributes}
    assert not any(experiment["decided_by_server"] for experiment in config["experiments"])
    assert script.call("decide", config, visit, stored, "", now.isoformat()) == decided


@examples(20, 300)
@given(
    drawn=conditions().flatmap(lambda one: st.tuples(st.just(one), attributes_near(one))),
    zone=ZONES,
    url=URLS,
    headers=st.sampled_from(PLACES),
    now=st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001 - made UTC below
)
def test_every_condition_holds_on_both_sides_or_on_neither(  # noqa: PLR0917 - drawn by name
    script: JavaScript,
    drawn: tuple[dict[str, Any], dict[str, Any]],
    zone: str,
    url: str,
    headers: dict[str, str],
    now: datetime,
) -> None:
    condition, given_attributes = drawn
    now = now.replace(tzinfo=UTC)
    rules = {"version": 2, "root": {"operator": "and", "children": [condition]}}
    client = Client.of_headers(headers)
    visitor = Visitor(
        visitor_id="v", user_id=None, url=url, attributes=given_attributes, client=client, city="Berlin"
    )
    eligible = compile_targeting(rules)(targeting_attributes(visitor, timezone=zone, now=now)).eligible
    experiment = an_experiment(
        status="running", weights=(1, 0), targeting_rules=rules, url="https", url_match_type="contains"
    )
    config = {**config_of(zone, experiment), "facts": facts_of(client, "Berlin")}
    visit = {"visitor_id": "v", "user_id": None, "url": url, "attributes": given_attributes}
    decided = script.call("decide", config, visit, {}, "", now.isoformat())
    assert decided == [0 if eligible else None]


def test_cookies_of_the_page_are_targeted(script: JavaScript) -> None:
    condition = {"field": "cookie", "operator": "equals", "values": ["a=b"], "key": "plan"}
    rules = {"version": 2, "root": {"operator": "and", "children": [condition]}}
    experiment = an_experiment(
        status="running", weights=(1, 0), targeting_rules=rules, url="https", url_match_type="contains"
    )
    visit: dict[str, Any] = {
        "visitor_id": "v",
        "user_id": None,
        "url": "https://shop.example/",
        "attributes": {},
    }
    for cookie, variant in [("x=1; plan=a=b", 0), ("plan=a=b; plan=other", 0), ("plan=c", None), ("", None)]:
        decided = script.call("decide", config_of("UTC", experiment), visit, {}, cookie, 0)
        assert decided == [variant]
