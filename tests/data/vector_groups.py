"""Groups of the published assignment vectors: experiments, and the visits that each decides on."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import Any, Final

from engine.design.conclusion import Rollout
from engine.design.exclusion.group_slots import GroupSlots, SlotRange
from engine.design.experiment import Experiment, UrlRule
from engine.design.reweighting import reweight
from engine.design.units import AttributeUnit
from tests.builders import STARTED, an_experiment, variants_of
from tests.data.vector_targeting import condition_visits, nested_rules, nested_visits

HOME: Final = "https://shop.example/"
LETTERS: Final = (
    "a",
    "Z",
    "7",
    " ",
    "é",
    "ß",
    "例",
    "え",
    "\u2028",
    "😀",
    "👩‍🚀",
    "\u0301",
    "\x00",
    "؟",
    "-",
    ":",
)
WEIGHTS: Final = (
    (1, 1), (1, 2, 1), (0.2, 0.3, 0.5), (0, 1), (1, 0), (1e-6, 1), (0.1, 0.2, 0.3, 0.4), (1,) * 20,
    (33.3, 66.7), (1 / 3, 1 / 3, 1 / 3), (5, 0, 0, 5), (1e9, 1), (7, 11, 13, 17, 19),
)  # fmt: skip
ALLOCATIONS: Final = (100, 100, 100, 50, 10, 1, 99, 0, 33)
VERSIONS: Final = (1, 2, 3, 17, 1_000_000)
# Match type and pattern; each with the addresses that it is compared with.
PAGES: Final = (
    ("exact", "https://shop.example/cart", ("https://shop.example/cart", "https://SHOP.example/cart/",
     "https://shop.example:443/cart#top", "https://shop.example/cart?a=1", "https://shop.example/Cart")),
    ("exact", "https://shop.example/p?a=1&b=%20", ("https://shop.example/p?b=+&x=1&a=1",
     "https://shop.example/p?a=1", "https://shop.example/p?a=1&a=1&b=%20", "https://shop.example/p?a=2&b=%20",
     "http://shop.example/p?a=1&b=%20")),
    ("exact", "/café", ("https://shop.example/caf%C3%A9", "https://other.example/café/",
     "https://shop.example/cafe", "https://shop.example/café?x=1", "https://shop.example/caf%C3")),
    ("starts_with", "https://Shop.example/p", ("https://shop.example/p", "https://shop.example/products",
     "https://shop.example/", "http://shop.example/p", "https://shop.example:443/p")),
    ("starts_with", "/p/", ("https://shop.example/p/1", "https://a.example/p/?q", "https://shop.example/p",
     "https://shop.example/x/p/", "https://shop.example?/p/")),
    ("ends_with", ".html", ("https://shop.example/a.html", "https://shop.example/a.html?x",
     "https://shop.example/?x=.html", "https://shop.example/a.HTML", "https://shop.example/.html#")),
    ("contains", "sale", ("https://shop.example/sale", "https://shop.example/?q=presales", "https://sale.example/",
     "https://shop.example/SALE", "https://shop.example/#sale")),
    ("wildcard", "https://shop.example/*/reviews", ("https://shop.example/p/reviews",
     "https://shop.example/a/b/reviews", "https://shop.example/reviews", "https://shop.example/p/reviews/",
     "https://shop.example//reviews")),
    ("wildcard", "/*-*-z", ("https://shop.example/a-b-z", "https://shop.example/--z", "https://shop.example/a-z",
     "https://shop.example/a-b-c-z", "https://shop.example/a-b-z?")),
    ("regex", r"/p/\d+$", ("https://shop.example/p/12", "https://shop.example/p/1a", "https://shop.example/p/",
     "https://shop.example/p/12?x=1", "https://shop.example/x/p/7")),
    ("regex", "^https://(www[.])?shop", ("https://shop.example/", "https://www.shop.example/",
     "http://shop.example/", "https://m.shop.example/", "https://wwwXshop.example/")),
    ("regex", "[^a-z]é|😀", ("https://shop.example/é", "https://shop.example/aé", "https://shop.example/?x=😀",
     "https://shop.example/e", "https://shop.example/%C3%A9")),
)  # fmt: skip
RULES: Final = (
    (),
    (("exclude", "contains", "a=1"),),
    (("include", "exact", "https://shop.example/Cart"), ("exclude", "ends_with", "/")),
    (("include", "regex", "x|b"), ("exclude", "wildcard", "*?*")),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A visit of a visitor to a page; `stored` is the index of the variant given before."""

    visitor_id: str
    url: str = HOME
    user_id: str | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    now: datetime | None = None
    first_seen: datetime | None = None
    stored: int | None = None


# A group, its time zone, an experiment, and visits to it.
Member = tuple[str, str, Experiment, Sequence[Visit]]
GERMAN: Final = {"field": "country", "operator": "in", "values": ["DE"]}
_EVERYWHERE: Final[dict[str, Any]] = {"url": HOME, "url_match_type": "starts_with"}


def members() -> Iterator[Member]:
    """Yield all experiments with their visits; the same in each run."""
    draw, number = random.Random(20261126), count()  # noqa: S311 - reproducible, no secret
    build = partial(_experiment, number)
    for group in (_splits, _letters, _pages, _targeting, _units, _stored, _epochs, _rollouts, _exclusion):
        for name, zone, experiment, visits in group(draw, build):
            yield name, zone, experiment, list(visits)


def _experiment(number: Iterator[int], **fields: Any) -> Experiment:
    place = next(number)
    weights = fields.pop("weights", (1, 1))
    return an_experiment(**{
        "id": f"exp_{place:06}",
        "name": f"Experiment {place}",
        "test_key": f"experiment-{place}",
        "status": "running",
        "variants": variants_of(weights),
        **_EVERYWHERE,
        **fields,
    })  # fmt: skip


def _uuid(draw: random.Random) -> str:
    digits = f"{draw.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _splits(draw: random.Random, build: Any) -> Iterator[Member]:
    for place in range(60):
        weights, version = WEIGHTS[place % len(WEIGHTS)], VERSIONS[place % len(VERSIONS)]
        experiment = build(
            weights=weights,
            traffic_allocation=ALLOCATIONS[place % len(ALLOCATIONS)],
            bucketing_version=version,
            salt=draw.choice(("101", f"exp_{place}", "säl:t", "an imported salt")),
        )
        yield "split", "UTC", experiment, [Visit(visitor_id=_uuid(draw)) for _ in range(5)]


def _letters(draw: random.Random, build: Any) -> Iterator[Member]:
    for length in range(10):
        texts = ["".join(draw.choices(LETTERS, k=length + draw.randrange(4))) for _ in range(21)]
        visits = [Visit(visitor_id=text or "v") for text in texts]
        yield "letters", "UTC", build(weights=(1, 2, 1), bucketing_version=1 + length % 3), visits


def _pages(draw: random.Random, build: Any) -> Iterator[Member]:
    for rules in RULES:
        made = tuple(UrlRule(type=a, match_type=b, value=c) for a, b, c in rules)  # type: ignore[arg-type]
        for match_type, pattern, urls in PAGES:
            experiment = build(url=pattern, url_match_type=match_type, url_rules=made)
            yield "pages", "UTC", experiment, [_visit(draw, {"url": url}) for url in urls]


def _targeting(draw: random.Random, build: Any) -> Iterator[Member]:
    for zone, rules, visits in condition_visits(draw):
        yield "targeting", zone, build(targeting_rules=rules), [_visit(draw, one) for one in visits]
    for _ in range(24):
        rules = nested_rules(draw)
        visits = nested_visits(draw, 5)
        yield "groups", "UTC", build(targeting_rules=rules), [_visit(draw, one) for one in visits]


def _visit(draw: random.Random, fields: dict[str, Any]) -> Visit:
    return Visit(visitor_id=f"v_{draw.randrange(1000)}", **fields)


def _units(draw: random.Random, build: Any) -> Iterator[Member]:
    ids: Sequence[Any] = ("u-1", " u-1 ", 7, 7.0, "7", 0.5, True, None, "null", "konto-é", 2**53, "x" * 201)
    for place in range(2):
        visits = [_visit(draw, {"user_id": one}) for one in ids if one is None or isinstance(one, str)]
        yield "unit", "UTC", build(unit="user", weights=(1, 1 + place)), visits
        visits = [_visit(draw, {"attributes": {"account": one}}) for one in ids]
        nested = [
            _visit(draw, {"attributes": {"account": "a", "custom_dimensions": {"account": one}}})
            for one in ids[:5]
        ]
        experiment = build(unit=AttributeUnit(attribute="account"), weights=(1, 1 + place))
        yield "unit", "UTC", experiment, [*visits, *nested]


def _stored(draw: random.Random, build: Any) -> Iterator[Member]:
    kinds: tuple[dict[str, Any], ...] = (
        {"weights": (0, 1)},
        {"traffic_allocation": 0},
        {"status": "paused"},
        {"status": "paused", "weights": (1, 0, 1)},
        {"url": "https://shop.example/elsewhere"},
    )
    for fields in kinds:
        for stored in (0, 1, None):
            visits = [_visit(draw, {"stored": stored}) for _ in range(6)]
            yield "stored", "UTC", build(**fields), visits


def _epochs(draw: random.Random, build: Any) -> Iterator[Member]:
    hour = timedelta(hours=1)
    histories = (
        ((1, 1), (1, 3)), ((1, 1), (9, 1), (1, 1)), ((1, 1, 1), (0, 1, 1)), ((1, 1, 1), (2, 5, 3), (8, 1, 1)),
        ((0.5, 0.5), (0.9, 0.1), (0.2, 0.8), (0.4, 0.6)),
    )  # fmt: skip
    for number, history in enumerate(histories):
        experiment = build(weights=history[0], traffic_allocation=(100, 60)[number % 2])
        for hours, weights in enumerate(history[1:], 1):
            experiment = reweight(experiment, weights, now=STARTED + hours * hour)
        experiment = replace(experiment, updated_at=STARTED)
        times = [STARTED - hour, *(STARTED + (h / 2) * hour for h in range(2 * len(history)))]
        visits = []
        for _ in range(13):
            visitor = _uuid(draw)
            visits += [Visit(visitor_id=visitor), Visit(visitor_id=visitor, first_seen=draw.choice(times))]
        visits += [Visit(visitor_id=_uuid(draw), stored=stored) for stored in (0, 1)]
        visits += [Visit(visitor_id=_uuid(draw), first_seen=at) for at in times[:3]]
        yield "epochs", "UTC", experiment, visits


def _exclusion(draw: random.Random, build: Any) -> Iterator[Member]:
    ranges = (((0, 3000),), ((3000, 3100), (7000, 9900)), ((9999, 10_000), (0, 1)), ((0, 10_000),))
    kinds: tuple[dict[str, Any], ...] = (
        {},
        {"traffic_allocation": 50, "weights": (1, 2, 1)},
        {"unit": "user"},
        {"unit": AttributeUnit(attribute="account")},
        {"status": "paused"},
        {"targeting_rules": {"version": 2, "root": {"operator": "and", "children": [GERMAN]}}},
    )
    for place, fields in enumerate(kinds):
        slots = tuple(SlotRange(first=first, beyond=beyond) for first, beyond in sorted(ranges[place % 4]))
        taken = GroupSlots(
            salt=("grp_1", "säl:t")[place % 2],
            bucketing_version=1 + place,
            slots=slots,
            taken_at=STARTED,
        )
        experiment = build(group_slots=taken, **fields)
        visits = []
        for stored in (None, None, None, None, None, 1):
            for country in ("DE", "FR"):
                unit = _uuid(draw)
                attributes = {"country": country, "account": unit}
                visits.append(_visit(draw, {"user_id": unit, "attributes": attributes, "stored": stored}))
        yield "exclusion", "UTC", experiment, [*visits, *(Visit(visitor_id=_uuid(draw)) for _ in range(6))]
    first = build(weights=(1, 1), group_slots=_reweighted_slots())
    reweighted = replace(reweight(first, (1, 3), now=STARTED + timedelta(hours=1)), updated_at=STARTED)
    visits = [Visit(visitor_id=_uuid(draw)) for _ in range(12)]
    seen = [replace(one, first_seen=STARTED + timedelta(hours=2)) for one in visits]
    yield "exclusion", "UTC", reweighted, [*visits, *seen]


def _reweighted_slots() -> GroupSlots:
    slots = (SlotRange(first=2000, beyond=7000),)
    return GroupSlots(salt="grp_2", bucketing_version=1, slots=slots, taken_at=STARTED)


def _rollouts(draw: random.Random, build: Any) -> Iterator[Member]:
    german = {"version": 2, "root": {"operator": "and", "children": [GERMAN]}}
    kinds: tuple[dict[str, Any], ...] = (
        {"traffic_allocation": 1, "weights": (1, 9)},
        {"unit": "user", "weights": (1, 1, 0)},
        {"url": "/p/", "status": "archived"},
        {"targeting_rules": german, "weights": (1, 1, 1)},
    )
    for fields in kinds:
        experiment = build(**{"status": "completed", "completed_at": STARTED + timedelta(days=7), **fields})
        rollout = Rollout(id=f"rol_{experiment.id[4:]}", variant_id="var_1", started_at=STARTED)
        known = [{"country": "DE"}, {"country": "FR"}, {}]
        visits = [
            _visit(draw, {"attributes": attributes, "stored": stored, "url": url})
            for attributes in known
            for stored in (0, 1, None)
            for url in (HOME, f"{HOME}p/1")
        ]
        yield "rollouts", "UTC", replace(experiment, rollout=rollout), visits
