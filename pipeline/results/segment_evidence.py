"""Evidence of segments from their sums."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from engine.analysis.evidence.segments import Counts, Segment, SegmentEvidence, SegmentVisitors
from engine.analysis.evidence.totals import Totals
from engine.design.experiment import Experiment
from engine.measures.sums import AMOUNT, MONEY
from engine.stats.arrays import IntArray
from pipeline.results.exact_sums import moments_of
from pipeline.results.goal_amounts import cells_of, ratios_from, with_amounts
from pipeline.results.quantiles import quantiles_by_segment
from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse.aggregates import EVERYONE


def segment_evidence_of(  # noqa: PLR0913  # the rest is said by name
    experiment: Experiment,
    cells: pl.DataFrame,
    *,
    cohorts: pl.DataFrame | None = None,
    known: pl.DataFrame | None = None,
    left_out: Mapping[str, str] | None = None,
    as_of: datetime | None = None,
) -> SegmentEvidence:
    """Arrange sums by segment, goal and variant, segments in order of their names.

    `cells` are those of `aggregates.read_totals`. Where outcomes of a goal take days, `cohorts` are those of
    `read_segment_cohorts`, and `known` those of `read_totals` up to their last days. All are aligned to the
    experiment. Segments without visitors are left out.
    """
    counted = cells.filter(pl.col("variant") < len(experiment.variants))
    names = _segments(counted)
    counts = _counts(experiment, counted, names)
    if cohorts is not None and known is not None:
        counted = known.filter(pl.col("variant") < len(experiment.variants))
        counts = _counts(experiment, counted, names, cohorts, counts)
    quantiles = quantiles_by_segment(experiment, counted.join(_rows(names), on=["dimension", "value"]))
    counts = counts.with_quantiles(quantiles)
    return SegmentEvidence(
        segments=_named(names),
        counts=counts[:-1],
        # The row of all visitors comes after the last segment.
        everyone=counts[-1],
        left_out=left_out or {},
        as_of=as_of,
        quantiles=quantiles,
    )


def segment_visitors_of(experiment: Experiment, cells: pl.DataFrame) -> SegmentVisitors:
    """Arrange visitors by segment and variant, from the `cells` of `aggregates.read_visitors`."""
    counted = cells.filter(pl.col("variant") < len(experiment.variants))
    names = _segments(counted)
    visitors = _visitors(counted.join(names, on=["dimension", "value"]), names.height, experiment)
    fixed = frozenset(name for name, dimension in DIMENSIONS.items() if dimension.is_fixed)
    return SegmentVisitors(_named(names), visitors, fixed)


def _segments(cells: pl.DataFrame) -> pl.DataFrame:
    """Number the segments that have visitors."""
    with_visitors = cells.filter((pl.col("dimension") != EVERYONE) & (pl.col("visitors") > 0))
    return (
        with_visitors.select("dimension", "value").unique().sort("dimension", "value").with_row_index("row")
    )


def _counts(
    experiment: Experiment,
    cells: pl.DataFrame,
    names: pl.DataFrame,
    cohorts: pl.DataFrame | None = None,
    so_far: Counts | None = None,
) -> Counts:
    """Arrange the counts of every segment, with those of all visitors in the last row.

    With `cohorts`, of visitors with a known outcome; `so_far` are then the counts of all.
    """
    goals, rows = len(experiment.goals), _rows(names)
    placed = cells.join(rows, on=["dimension", "value"])
    done = cells_of(placed, MONEY)
    visitors = _visitors(placed.filter(pl.col("goal").is_null()), rows.height, experiment)
    conversions = np.zeros((rows.height, goals, len(experiment.variants)), np.int64)
    place = _place(done, "row", "goal", "variant")
    np.add.at(conversions, place, done["conversions"].to_numpy())
    n = np.broadcast_to(visitors[:, None], conversions.shape)
    observed, totals = n.copy(), Totals.nothing()
    if cohorts is not None and so_far is not None:
        known = cohorts.filter(pl.col("variant") < len(experiment.variants))
        known = known.join(rows, on=["dimension", "value"])
        late = [place for place, goal in enumerate(experiment.goals) if goal.known_after is not None]
        for name, counts in (("observed", observed), ("conversions", conversions)):
            counts[:, late] = 0
            np.add.at(counts, _place(known, "row", "goal", "variant"), known[name].to_numpy())
        retained = [place for place, goal in enumerate(experiment.goals) if not goal.measure.is_known_at_once]
        done_so_far = so_far.conversions.copy()
        done_so_far[:, retained] = conversions[:, retained]
        totals = Totals(conversions=done_so_far, revenue=so_far.revenue)
    revenue, amounts = (
        moments_of(observed, sums, _place(sums, "row", "goal", "variant"))
        for sums in (done, cells_of(placed, AMOUNT))
    )
    return Counts(
        visitors=visitors,
        conversions=conversions,
        revenue=revenue,
        values=with_amounts(experiment, revenue, amounts),
        observed=observed,
        so_far=totals,
        ratios=ratios_from(experiment, placed, observed, lambda sums: _place(sums, "row", "goal", "variant")),
    )


def _rows(names: pl.DataFrame) -> pl.DataFrame:
    """Number the segments, and all visitors after the last one."""
    everyone = pl.DataFrame(
        {"dimension": [EVERYONE], "value": [EVERYONE], "row": [names.height]},
        schema_overrides={"row": pl.UInt32},
    )
    return pl.concat([names, everyone], how="diagonal")


def _visitors(placed: pl.DataFrame, rows: int, experiment: Experiment) -> IntArray:
    visitors = np.zeros((rows, len(experiment.variants)), np.int64)
    np.add.at(visitors, _place(placed, "row", "variant"), placed["visitors"].to_numpy())
    return visitors


def _named(names: pl.DataFrame) -> tuple[Segment, ...]:
    return tuple(Segment(*name) for name in names.select("dimension", "value").rows())


def _place(cells: pl.DataFrame, *columns: str) -> tuple[npt.NDArray[Any], ...]:
    return tuple(cells[name].to_numpy() for name in columns)
