"""Columns of events and segment dimensions: one table, which stores, requests, answers and pages follow."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal, NamedTuple, get_type_hints

from engine.vocabulary import DayType, DeviceType, VisitorIdentity, VisitorType, words

# A public key is public: anybody can send a browser's events, only the team those of servers and files.
Sender = Literal["browser", "server", "import"]
# Where a value comes from that no attribute states: `address` of the page, `header` of the request, other
# `events` of the visitor, `time` of the first exposure; `attribute` where nothing else tells it.
Source = Literal["attribute", "address", "header", "events", "time"]
# Value of visitors whose own values few have, in sums that a warehouse counted.
OTHER: Final = "other"


@dataclass(frozen=True, slots=True)
class Since:
    """The first version of the store whose events have a column; those without one were in version 0.1."""

    version: str


@dataclass(frozen=True, slots=True)
class Dimension:
    """A segment dimension: an attribute of visitors by which results are filtered and split.

    `plural` names its values in `available_segments`; `label` and `plural_label` say what one and all of them
    are. `values` are all there are; empty where any text is one, such as `some_value`. `header_bit` marks
    values of request headers in `header_fields`: stored events hold it, so that it never changes.
    """

    plural: str
    source: Source
    label: str
    plural_label: str
    values: tuple[str, ...] = ()
    header_bit: int = 0
    ignores_case: bool = False
    some_value: str | None = None

    @property
    def example(self) -> str:
        """A value of the dimension, for the documentation of the API."""
        return self.some_value or next(iter(self.values), "any text")

    @property
    def is_fixed(self) -> bool:
        """Whether no variant can change it: it is known before any acts."""
        return self.source in {"header", "time"}


class EventRow(NamedTuple):
    """One event without its `seq`, in the order of the table's columns, with their segment dimensions.

    Times are microseconds since 1970 in UTC; keys are `hash64` of the text column of the same stem, except
    `address_key`, a keyed hash of the browser's network address. `not_counted` is the reason why an exposure
    does not count, None where it does. `sender` is None for events stored before senders were.
    `header_fields` are the bits of the dimensions that the request headers gave, and no attribute.
    """

    received_at: int
    occurred_at: int
    event_id: str
    event_key: int
    type: str
    visitor_id: str | None
    visitor_key: int
    user_id: str | None = None
    user_key: int | None = None
    experiment_id: str | None = None
    variant_id: str | None = None
    goal_id: str | None = None
    url: str | None = None
    selector: str | None = None
    event_name: str | None = None
    value: float | None = None
    revenue_cents: int | None = None
    currency: str | None = None
    transaction_id: str | None = None
    transaction_key: int | None = None
    is_refund: bool = False
    is_bot: bool = False
    traffic_source: Annotated[
        str | None,
        Dimension(
            "traffic_sources", "address", "source of the visit", "sources of the visit", some_value="search"
        ),
    ] = None
    device_type: Annotated[
        str | None,
        Dimension(
            "device_types",
            "header",
            "kind of device",
            "kinds of device",
            values=words(DeviceType),
            header_bit=1,
        ),
    ] = None
    visitor_type: Annotated[
        str | None,
        Dimension(
            "visitor_types",
            "events",
            "type, `new` or `returning`",
            "new and returning",
            values=words(VisitorType),
        ),
    ] = None
    os: Annotated[
        str | None,
        Dimension(
            "operating_systems",
            "header",
            "operating system",
            "operating systems",
            header_bit=2,
            some_value="iOS",
        ),
    ] = None
    country: Annotated[
        str | None,
        Dimension(
            "countries",
            "header",
            "country, by its ISO 3166 code",
            "countries, ISO 3166 codes",
            header_bit=4,
            some_value="AT",
            ignores_case=True,
        ),
    ] = None
    region: Annotated[
        str | None,
        Dimension("regions", "header", "region", "regions of a country", header_bit=8, some_value="AT-9"),
    ] = None
    browser: Annotated[
        str | None, Dimension("browsers", "header", "browser", "browsers", header_bit=16, some_value="Chrome")
    ] = None
    language: Annotated[
        str | None,
        Dimension(
            "languages",
            "header",
            "language, by its tag such as `de-AT`",
            "languages, tags such as `de-AT`",
            header_bit=32,
            some_value="de-AT",
            ignores_case=True,
        ),
        Since("0.2"),
    ] = None
    utm_source: Annotated[
        str | None,
        Dimension(
            "utm_sources", "address", "`utm_source`", "`utm_source` of the address", some_value="newsletter"
        ),
    ] = None
    utm_medium: Annotated[
        str | None,
        Dimension(
            "utm_mediums", "address", "`utm_medium`", "`utm_medium` of the address", some_value="email"
        ),
    ] = None
    utm_campaign: Annotated[
        str | None,
        Dimension(
            "utm_campaigns", "address", "`utm_campaign`", "`utm_campaign` of the address", some_value="spring"
        ),
    ] = None
    visitor_identity: Annotated[
        str | None,
        Dimension(
            "visitor_identities",
            "events",
            "identity, signed in or not",
            "signed in or not",
            values=words(VisitorIdentity),
        ),
    ] = None
    # A further dimension has its row above, and its reader in pipeline/events/attributes.py.
    custom: str | None = None
    sender: Annotated[Sender | None, Since("0.2")] = None
    address_key: Annotated[int | None, Since("0.2")] = None
    not_counted: Annotated[str | None, Since("0.2")] = None
    header_fields: Annotated[int | None, Since("0.2")] = None


_FACTS: Final = {
    name: getattr(hint, "__metadata__", ())
    for name, hint in get_type_hints(EventRow, include_extras=True).items()
}
# The dimensions that events have, in the order of their columns.
EVENT_DIMENSIONS: Final[Mapping[str, Dimension]] = {
    name: fact for name, facts in _FACTS.items() for fact in facts if isinstance(fact, Dimension)
}
# The columns that were not in version 0.1, and the version that added each.
ADDED_COLUMNS: Final[Mapping[str, str]] = {
    name: fact.version for name, facts in _FACTS.items() for fact in facts if isinstance(fact, Since)
}
_DAY_OF_WEEK: Final = Dimension(
    label="day of the first exposure",
    plural_label="days of the first exposure",
    plural="day_of_weeks",
    source="time",
    values=words(DayType),
)


def _all() -> Iterable[tuple[str, Dimension]]:
    for name, dimension in EVENT_DIMENSIONS.items():
        yield name, dimension
        # Answers list them in this order.
        if name == "os":
            yield "day_of_week", _DAY_OF_WEEK


# By name: those of events, and the day, which follows from the time. Each has a column of value codes in the
# table of visitors.
DIMENSIONS: Final[Mapping[str, Dimension]] = dict(_all())
# The bits of `header_fields`.
HEADER_BITS: Final[Mapping[str, int]] = {
    name: dimension.header_bit for name, dimension in DIMENSIONS.items() if dimension.header_bit
}
