"""Assignment of the rows of a frame: the variants that visitors were given, found again from their ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import msgspec
import narwhals as nw
import polars as pl
from narwhals import Implementation

from engine.design.assignment import Role, traffic_threshold, unit_hashes, variant_thresholds
from engine.design.epoch_thresholds import epoch_thresholds
from engine.design.exclusion.group_slots import hash_ranges
from engine.design.experiment import Experiment
from engine.design.rolled_out import as_rolled_out
from engine.design.targeting.rules import EVERYONE
from engine.design.units import VISITOR, is_clustered, unit_attribute
from engine.errors import InvalidDesignError, InvalidEvidenceError
from engine.frames.lazy.lazy_columns import time_literal
from engine.local_days import epoch_microseconds
from engine.typed_records import record_of
from engine.validation.sent_ids import id_text
from pipeline.assignment.frame_eligibility import Eligibility, eligibility_of
from pipeline.store.murmur_sql import Dialect
from pipeline.store.unit_hash_sql import with_unit_hashes

FrameT = TypeVar("FrameT")

# Columns that are there while the variant is worked out.
_HASHES: Final[Mapping[Role, str]] = {
    "t": "truelift_hash_t",
    "v": "truelift_hash_v",
    "g": "truelift_hash_g",
}
_ELIGIBLE: Final = "truelift_eligible"
_ALL_TRAFFIC: Final = 100
_DIALECTS: Final[Mapping[Implementation, Dialect]] = {
    Implementation.DUCKDB: "duckdb",
    Implementation.PYSPARK: "spark",
    Implementation.PYSPARK_CONNECT: "spark",
}


def assign_frame(  # noqa: PLR0913  # all but the frame and the experiment have defaults
    frame: FrameT,
    experiment: Mapping[str, Any],
    *,
    visitor: str | None = None,
    first_seen: str | None = None,
    url: str | None = None,
    columns: Mapping[str, str] | None = None,
    is_targeted: bool = True,
    variant: str = "assigned_variant",
) -> FrameT:
    """Add a column with the name of the variant that assignment gives to each row; null for none.

    Args:
        frame: A DataFrame or LazyFrame of Polars, a relation of DuckDB, or a DataFrame of Spark; one of the
            same kind is returned. DuckDB and Spark compute hashes themselves, in SQL.
        experiment: The experiment as `GET /api/v1/sdk/config` gives it to an API key: an entry of
            `experiments` or `rollouts`, or its `definition`. Its status is not looked at; of a rollout
            everybody eligible gets the shipped variant.
        visitor: Column with the ids of visitors, texts or whole numbers; of users or accounts where the
            experiment assigns these. By default `visitor_id`, `user_id` or the attribute's name.
        first_seen: Column with the time at which a visitor came first, in UTC unless it has a zone of its
            own. Needed where the weights have changed since the start: the weights of that time decide.
        url: Column with the address of the page, absolute. Without it, pages are not compared.
        columns: Column of each targeting field, cookie, parameter or dimension that has another name.
        is_targeted: Whether targeting rules decide, too.
        variant: Name of the new column.

    Returns:
        The frame with the new column.

    Raises:
        InvalidEvidenceError: for a frame of another kind, a column that is missing or of another type, and
            weights that changed without `first_seen`.
        InvalidDesignError: for an experiment that cannot be read.

    The service gives a visitor the same variant, unless the visitor had one before: an earlier variant stays
    when traffic or targeting change. One of an exclusion group takes the units of its slots alone.
    """
    design = _read(experiment)
    table = _table(frame)
    unit = visitor or _usual_column(design)
    rows = _Rows(design, table, unit, first_seen)
    rows.check(variant, url)
    found = eligibility_of(
        design if is_targeted else replace(design, targeting_rules=EVERYONE), rows.names, columns or {}, url
    )
    with_hashes = nw.from_native(rows.with_hashes(found))
    is_in = rows.is_in_traffic()
    if found.names:
        is_in &= nw.col(_ELIGIBLE) if table.implementation.is_polars() else found.of_table(table)
    chosen = nw.when(is_in).then(rows.variant_by_hash()).otherwise(nw.lit(None, dtype=nw.String))
    added = with_hashes.with_columns(chosen.alias(variant))
    result: FrameT = added.select(*rows.names, variant).to_native()
    return result


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a frame, each with the id of a unit of an experiment."""

    experiment: Experiment
    table: Any
    unit: str
    first_seen: str | None

    @property
    def names(self) -> list[str]:
        names: list[str] = self.table.collect_schema().names()
        return names

    def check(self, variant: str, url: str | None) -> None:
        """Raise InvalidEvidenceError for columns that are missing or of a type that cannot be read."""
        schema, name = self.table.collect_schema(), self.experiment.name
        for column in (self.unit, self.first_seen, url):
            if column is not None and column not in schema:
                raise InvalidEvidenceError(f"the frame has no column {column!r}; it has {', '.join(schema)}")
        if variant in schema:
            raise InvalidEvidenceError(f"the frame has a column {variant!r} already; choose another variant=")
        if taken := [column for column in (*_HASHES.values(), _ELIGIBLE) if column in schema]:
            raise InvalidEvidenceError(f"rename the column {taken[0]!r}, which the calculation adds itself")
        if schema[self.unit].is_float() or schema[self.unit] == nw.Boolean:
            raise InvalidEvidenceError(f"{self.unit!r} must hold texts or whole numbers, as ids are")
        if not self.experiment.variants:
            raise InvalidEvidenceError(f"experiment {name!r} has no variants")
        if not self.experiment.weight_epochs:
            return
        if self.first_seen is None:
            raise InvalidEvidenceError(
                f"the weights of experiment {name!r} have changed, so that the variant depends on when a "
                "visitor came first; name the column with that time: first_seen=…"
            )
        if schema[self.first_seen] != nw.Datetime:
            raise InvalidEvidenceError(
                f"{self.first_seen!r} must hold times: weights may change within a day"
            )

    def with_hashes(self, eligibility: Eligibility) -> Any:  # noqa: ANN401  # a frame of any kind
        """Add the hashes that are needed; with Polars the eligibility, too."""
        is_needed = {
            "t": self.experiment.traffic_allocation < _ALL_TRAFFIC,
            "v": True,
            "g": self.experiment.group_slots is not None,
        }
        needed = {role: name for role, name in _HASHES.items() if is_needed[role]}
        native = self.table.to_native()
        if not self.table.implementation.is_polars():
            dialect = _DIALECTS[self.table.implementation]
            return with_unit_hashes(native, self.experiment, self.unit, needed, dialect)
        hashes = [self._hash(role).alias(name) for role, name in needed.items()]
        decided = [eligibility.of_polars().alias(_ELIGIBLE)] if eligibility.names else []
        return native.with_columns(*hashes, *decided)

    def _hash(self, role: Role) -> pl.Expr:
        """Build the expression of a Polars frame, whose ids are hashed one by one."""

        def hashed(texts: pl.Series) -> pl.Series:
            ids = map(id_text, texts) if is_clustered(self.experiment.unit) else texts
            return pl.Series(unit_hashes(self.experiment, role, ids), dtype=pl.Int64)

        text = pl.col(self.unit).cast(pl.String)
        return text.map_batches(hashed, return_dtype=pl.Int64, is_elementwise=True)

    def is_in_traffic(self) -> nw.Expr:
        own, share = nw.col(_HASHES["v"]), self.experiment.traffic_allocation
        taken = self.experiment.group_slots
        is_in: nw.Expr = ~own.is_null()
        if share < _ALL_TRAFFIC:
            is_in &= nw.col(_HASHES["t"]) < nw.lit(traffic_threshold(share))
        if taken is not None:
            slot = nw.col(_HASHES["g"])
            is_in &= nw.any_horizontal(
                *((slot >= first) & (slot < beyond) for first, beyond in hash_ranges(taken.slots)),
                ignore_nulls=False,
            )
        return is_in

    def variant_by_hash(self) -> nw.Expr:
        """Build the name of the variant, by the weights of the time when the unit came first."""
        epochs = epoch_thresholds(self.experiment)
        if not epochs or self.first_seen is None:
            weights = tuple(one.weight for one in self.experiment.variants)
            return self._named(variant_thresholds(weights))
        kind = self.table.collect_schema()[self.first_seen]
        seen = nw.col(self.first_seen)
        if self.table.implementation.is_polars() and kind.time_zone:
            # Polars compares no times of two zones.
            seen = seen.dt.convert_time_zone("UTC")
        found = nw.when(~seen.is_null()).then(self._named(epochs[0].thresholds))
        named: nw.Expr = found.otherwise(nw.lit(None, dtype=nw.String))
        for epoch in epochs[1:]:
            is_later = seen >= time_literal(kind, epoch_microseconds(epoch.started_at))
            named = nw.when(is_later).then(self._named(epoch.thresholds)).otherwise(named)
        return named

    def _named(self, thresholds: Sequence[int]) -> nw.Expr:
        own, variants = nw.col(_HASHES["v"]), self.experiment.variants
        ends = list(zip(thresholds, variants, strict=True))
        # The last share ends with the last hash.
        named: nw.Expr = nw.lit(ends[-1][1].name)
        for end, one in reversed(ends[:-1]):
            named = nw.when(own < nw.lit(end)).then(nw.lit(one.name)).otherwise(named)
        return named


def _read(experiment: Mapping[str, Any]) -> Experiment:
    try:
        return as_rolled_out(record_of(experiment.get("definition", experiment), Experiment))
    except (msgspec.ValidationError, InvalidDesignError) as error:
        raise InvalidEvidenceError(
            "experiment must be an entry of `experiments` of GET /api/v1/sdk/config, asked for with an API "
            f"key: {error}"
        ) from error


def _table(frame: object) -> Any:  # noqa: ANN401  # a frame of narwhals, eager or lazy
    table: Any = nw.from_native(frame, pass_through=True)
    is_frame = isinstance(table, nw.DataFrame | nw.LazyFrame)
    if is_frame and (table.implementation.is_polars() or table.implementation in _DIALECTS):
        return table
    raise InvalidEvidenceError(
        "the frame must be a DataFrame or LazyFrame of Polars, a relation of DuckDB or a DataFrame of Spark, "
        f"not {type(frame).__module__}.{type(frame).__qualname__}; polars.from_pandas makes one of pandas"
    )


def _usual_column(experiment: Experiment) -> str:
    if experiment.unit == VISITOR:
        return "visitor_id"
    return unit_attribute(experiment.unit) or "user_id"
