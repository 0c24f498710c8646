"""Targeting fields: visitor attributes, and the operators of each."""

from dataclasses import dataclass
from typing import Literal

from engine.vocabulary import DeviceType, VisitorIdentity, VisitorType, Weekday, words

DataType = Literal["string", "enum", "number"]
Evaluation = Literal["server_first", "server_and_client"]

GROUP_OPERATORS = ("and", "or", "not")
_SETS = ("equals", "not_equals", "in", "not_in")
_PRESENCE = ("exists", "not_exists")
_PARTS = ("contains", "not_contains", "starts_with", "ends_with", "regex")
_ORDER = ("gt", "gte", "lt", "lte")
_BY_DATA_TYPE: dict[DataType, tuple[str, ...]] = {
    "string": (*_SETS, *_PARTS, *_PRESENCE),
    "enum": (*_SETS, *_PRESENCE),
    "number": (*_SETS, *_ORDER, *_PRESENCE),
}
MOST_VALUES = 1000
# The least and most values of an operator. One match is enough; a negated operator needs that none matches.
VALUES_OF_OPERATOR: dict[str, tuple[int, int]] = {
    **dict.fromkeys((*_SETS, *_PARTS), (1, MOST_VALUES)),
    **dict.fromkeys(_ORDER, (1, 1)),
    **dict.fromkeys(_PRESENCE, (0, 0)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetingField:
    """A visitor attribute. `requires_key`: a family of attributes, such as cookies, each named by a `key`.

    `evaluation` is where the attribute is known: `server_first` on the server (from the IP address),
    `server_and_client` on both. `ignores_case`: upper and lower case are equal.
    """

    data_type: DataType = "string"
    evaluation: Evaluation = "server_and_client"
    widget: str = "text"
    requires_key: bool = False
    enum_values: tuple[str, ...] | None = None
    ignores_case: bool = True
    more_operators: tuple[str, ...] = ()

    @property
    def operators(self) -> tuple[str, ...]:
        """Operators of the field."""
        return (*_BY_DATA_TYPE[self.data_type], *self.more_operators)


def _one_of(vocabulary: object) -> TargetingField:
    return TargetingField(data_type="enum", widget="select", enum_values=words(vocabulary))


def _keyed() -> TargetingField:
    # The value of a cookie or a dimension may be a number.
    return TargetingField(widget="key_value", requires_key=True, ignores_case=False, more_operators=_ORDER)


TARGETING_FIELDS: dict[str, TargetingField] = {
    "country": TargetingField(evaluation="server_first", widget="country"),
    "region": TargetingField(evaluation="server_first"),
    "city": TargetingField(evaluation="server_first"),
    "device_type": _one_of(DeviceType),
    "browser": TargetingField(),
    "os": TargetingField(),
    "language": TargetingField(),
    "visitor_type": _one_of(VisitorType),
    "visitor_identity": _one_of(VisitorIdentity),
    "traffic_source": TargetingField(),
    "referrer": TargetingField(ignores_case=False),
    "utm_source": TargetingField(),
    "utm_medium": TargetingField(),
    "utm_campaign": TargetingField(),
    "url": TargetingField(ignores_case=False),
    "query_param": _keyed(),
    "cookie": _keyed(),
    "custom_dimension": _keyed(),
    "day_of_week": _one_of(Weekday),
    "hour_of_day": TargetingField(data_type="number", widget="number"),
}
