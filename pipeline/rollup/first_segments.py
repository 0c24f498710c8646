"""Segments at first exposure: from the exposure, else from `init`, else from the visitor's history."""

import json
from typing import Final

import polars as pl

from engine.vocabulary import VisitorIdentity, VisitorType
from pipeline.rollup.goals.visitor_events import VISITOR
from pipeline.store.event_columns import HEADER_BITS
from pipeline.store.warehouse.event_reader import SEGMENT_COLUMNS
from pipeline.store.warehouse.events import SENDER_BITS
from pipeline.store.warehouse.segment_dimensions import CUSTOM

# A visitor seen longer than this before the first exposure returns: the usual length of a session.
SESSION_US: Final = 30 * 60 * 1_000_000
# Files, and events from before senders were stored, do not tell of earlier visits.
_TELLS_OF_VISITS: Final = SENDER_BITS["browser"] | SENDER_BITS["server"]
_IDENTIFIED: Final[VisitorIdentity] = "identified"
_NEW: Final[VisitorType] = "new"
_RETURNING: Final[VisitorType] = "returning"


def complete_segments(
    exposed: pl.DataFrame, visits: pl.DataFrame | None, sights: pl.DataFrame | None
) -> pl.DataFrame:
    """Complete the segments of first exposures, which have the `header_fields` of the exposure.

    Attributes and the address that `init` got before (`visits`) belong to the exposure unless it says
    otherwise, and so does the user id in a `user_key`; what headers tell counts where neither says anything.
    A visitor is identified by the exposure, or by an event with a user id before it. `visitor_type` follows
    from the first of the `sights` where nothing states it.
    """
    if visits is not None and visits.height:
        exposed = _with_visits(exposed, visits)
    if sights is not None:
        exposed = _with_sights(exposed, sights)
    return exposed.drop("seq", "header_fields")


def lacks_type() -> pl.Expr:
    """Build the condition that the type of an exposure's visitor follows from its other events."""
    return pl.col("visitor_type").is_null() & (pl.col("exposure_sender") & _TELLS_OF_VISITS != 0)


def _with_visits(exposed: pl.DataFrame, visits: pl.DataFrame) -> pl.DataFrame:
    kind = exposed.schema[CUSTOM]
    names = [name for name in visits.columns if name not in VISITOR]
    own = visits.select(*VISITOR, pl.col(names).name.prefix("visit_"))
    joined = exposed.join(own, on=VISITOR, how="left", maintain_order="left")
    headers = pl.col("header_fields").fill_null(0)
    values = [
        pl.coalesce(
            pl.when(headers & HEADER_BITS.get(name, 0) == 0).then(name),
            _as_category(f"visit_{name}", kind),
            name,
            *([_as_category(f"visit_{name}_header", kind)] if name in HEADER_BITS else []),
        ).alias(name)
        for name in SEGMENT_COLUMNS
        if name in names and name != CUSTOM
    ]
    identity = _identified_where(pl.col("visit_is_identified"), kind)
    users = [pl.coalesce("user_key", "visit_user_key")] if "user_key" in exposed.columns else []
    custom = _merged(joined[f"visit_{CUSTOM}"], joined[CUSTOM].cast(pl.String)).cast(kind)
    return joined.with_columns(*values, *users, identity, custom.alias(CUSTOM)).select(exposed.columns)


def _with_sights(exposed: pl.DataFrame, sights: pl.DataFrame) -> pl.DataFrame:
    kind = exposed.schema[CUSTOM]
    firsts = sights.group_by("visitor_key").agg(pl.col("first_seen_at").min(), pl.col("identified_at").min())
    joined = exposed.join(firsts, on="visitor_key", how="left", maintain_order="left")
    is_returning = pl.col("first_seen_at") < pl.col("first_exposed_at") - SESSION_US
    derived = pl.when(is_returning).then(pl.lit(_RETURNING)).otherwise(pl.lit(_NEW))
    return joined.with_columns(
        pl.when(lacks_type()).then(derived.cast(kind)).otherwise("visitor_type").alias("visitor_type"),
        _identified_where(pl.col("identified_at") <= pl.col("first_exposed_at"), kind),
    ).select(exposed.columns)


def _identified_where(is_identified: pl.Expr, kind: pl.DataType) -> pl.Expr:
    identified = pl.when(is_identified).then(pl.lit(_IDENTIFIED).cast(kind))
    return identified.otherwise("visitor_identity").alias("visitor_identity")


def _as_category(name: str, kind: pl.DataType) -> pl.Expr:
    return pl.col(name).cast(kind)


def _merged(before: pl.Series, own: pl.Series) -> pl.Series:
    """Merge the JSON objects of custom dimensions, each distinct pair once; those of `own` win."""
    pairs = pl.DataFrame({"before": before, "own": own})
    both = pairs.filter(pl.all_horizontal(pl.all().is_not_null())).unique()
    merged = [_merged_pair(*pair) for pair in both.iter_rows()]
    known = both.with_columns(pl.Series("merged", merged, pl.String))
    joined = pairs.join(known, on=["before", "own"], how="left", maintain_order="left")
    return joined.select(pl.coalesce("merged", "own", "before")).to_series()


def _merged_pair(before: str, own: str) -> str:
    merged = {**json.loads(before), **json.loads(own)}
    return json.dumps(merged, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
