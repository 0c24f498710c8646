"""Eligibility of the rows of a frame: targeting and pages, decided once for each combination of values."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import Any, Final

import narwhals as nw
import polars as pl

from engine.design.experiment import Experiment
from engine.design.pages import covers_page
from engine.design.targeting.evaluation import Targeting, compile_targeting
from engine.design.targeting.fields import TARGETING_FIELDS
from engine.errors import InvalidEvidenceError
from engine.frames.lazy.engine_queries import Table, fetch
from pipeline.assignment.targeting_attributes import Visitor, targeting_attributes
from pipeline.events.attributes import UNKNOWN_CLIENT

# Combinations that a query of an engine compares with.
MOST_COMBINATIONS: Final = 1_000
# Told by the address of a page, where no column tells them.
_IN_URL: Final = frozenset(
    {"url", "query_param", "traffic_source", "utm_source", "utm_medium", "utm_campaign"}
)
_BY_TIME: Final = frozenset({"day_of_week", "hour_of_day"})
_OBJECTS: Final = {
    "cookie": "cookies",
    "query_param": "query_params",
    "custom_dimension": "custom_dimensions",
}
_ANY_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Eligibility:
    """What decides on the rows of a frame, besides the hash: values of columns by attribute, and a page."""

    experiment: Experiment
    # By targeting field and key.
    columns: Mapping[tuple[str, str | None], str]
    url: str | None

    @property
    def names(self) -> list[str]:
        """Every column that is used, once; none where every row is eligible."""
        return list(dict.fromkeys([*self.columns.values(), *([] if self.url is None else [self.url])]))

    def of_polars(self) -> pl.Expr:
        """Build the expression of a Polars frame."""
        return pl.struct(self.names).map_batches(
            lambda rows: self._of_rows(rows.struct.unnest()), return_dtype=pl.Boolean, is_elementwise=True
        )

    def of_table(self, table: Table) -> nw.Expr:
        """Build the expression of an engine's table, whose distinct values are fetched."""
        rows = fetch(table.select(self.names).unique().head(MOST_COMBINATIONS + 1))
        if len(rows) > MOST_COMBINATIONS:
            raise InvalidEvidenceError(
                f"{', '.join(self.names)} have more than {MOST_COMBINATIONS:,} combinations of values; give "
                "a Polars frame, or leave targeting out with is_targeted=False"
            )
        eligible = rows.filter(self._of_rows(rows))
        none = nw.lit(value=False)
        return reduce(lambda so_far, row: so_far | _equals(row), eligible.iter_rows(named=True), none)

    def _of_rows(self, rows: pl.DataFrame) -> pl.Series:
        known = rows.unique()
        is_targeted = compile_targeting(self.experiment.targeting_rules)
        decided = [self._is_eligible(row, is_targeted) for row in known.iter_rows(named=True)]
        with_answer = known.with_columns(pl.Series("is eligible", decided, dtype=pl.Boolean))
        joined = rows.join(with_answer, on=rows.columns, how="left", nulls_equal=True, maintain_order="left")
        return joined["is eligible"]

    def _is_eligible(self, row: Mapping[str, Any], is_targeted: Targeting) -> bool:
        url = None if self.url is None else row[self.url]
        if url is not None and not covers_page(self.experiment, url):
            return False
        given: dict[str, Any] = {}
        for (field, key), column in self.columns.items():
            if key is None:
                given[field] = row[column]
            elif row[column] is not None:
                given.setdefault(_OBJECTS[field], {})[key] = row[column]
        timed = {name: given.pop(name) for name in _BY_TIME & given.keys()}
        visitor = Visitor(
            visitor_id="",
            user_id=None,
            url=url or given.pop("url", None),
            attributes=given,
            client=UNKNOWN_CLIENT,
        )
        attributes = targeting_attributes(visitor, timezone="UTC", now=_ANY_TIME)
        return is_targeted({**attributes, **timed}).eligible


def eligibility_of(
    experiment: Experiment, known: Iterable[str], columns: Mapping[str, str], url: str | None
) -> Eligibility:
    """Find the columns of what an experiment targets; InvalidEvidenceError names one that is missing.

    `columns` maps a targeting field, or the key of a cookie, parameter or dimension, to its column.
    """
    found: dict[tuple[str, str | None], str] = {}
    present = set(known)
    for field, key in _targeted(experiment.targeting_rules["root"]):
        name = key or field
        column = columns.get(name, name)
        if column in present:
            found[field, key] = column
        elif url is None or field not in _IN_URL:
            raise InvalidEvidenceError(
                f"experiment {experiment.name!r} targets {name}, and the frame has no column {column!r}; "
                f"name it with columns={{{name!r}: …}}, or leave targeting out with is_targeted=False"
            )
    return Eligibility(experiment, found, url)


def _targeted(node: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    if "children" not in node:
        requires_key = TARGETING_FIELDS[node["field"]].requires_key
        yield node["field"], node["key"] if requires_key else None
    for child in node.get("children", ()):
        yield from _targeted(child)


def _equals(row: Mapping[str, Any]) -> nw.Expr:
    conditions = [
        nw.col(name).is_null() if value is None else nw.col(name) == nw.lit(value)
        for name, value in row.items()
    ]
    return reduce(lambda one, other: one & other, conditions)
