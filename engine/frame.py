"""The verdict on an experiment that lies in a DataFrame: the same report that the service gives."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from engine.analysis.analyze import Report, analyze
from engine.design.analysis_settings import Statistics
from engine.design.vocabulary import AnalysisMethod, TrafficStrategy
from engine.errors import InvalidEvidenceError
from engine.frame_counts import count
from engine.frame_epochs import WeightEpochs, with_epochs
from engine.frame_experiment import experiment_of
from engine.frame_rows import Columns, GoalKind, ValueColumns, read_rows

__all__ = ["Columns", "GoalKind", "analyze_frame"]

_DEFAULTS = Statistics()


def analyze_frame(  # noqa: PLR0913  # what a test needs told; all but the control and the goals have defaults
    df: Any,  # noqa: ANN401  # any frame that narwhals knows
    *,
    control: object,
    goals: Mapping[str, GoalKind] | Sequence[str],
    variant: str = "variant",
    visitor: str | None = None,
    timestamp: str | None = None,
    timezone: str = "UTC",
    weights: Mapping[str, float] | None = None,
    weight_epochs: WeightEpochs = (),
    traffic_strategy: TrafficStrategy = "fixed",
    less_is_better: Collection[str] = (),
    analysis_method: AnalysisMethod = "frequentist",
    confidence_level: int = 95,
    covariates: Mapping[str, str] = {},
    orders: Mapping[str, str] = {},
    caps: Mapping[str, float] = {},
    statistics: Statistics = _DEFAULTS,
    currency: str = "USD",
    name: str = "Data frame",
) -> Report:
    """Judge the experiment in a DataFrame.

    `df` is a Polars frame (eager or lazy), a pandas frame, a PyArrow table, a DuckDB relation or whatever
    else narwhals knows. It has one row per visitor; or several, where `visitor` names the column that
    tells visitors apart: a visitor converts if any row says so, revenue adds up, and visitors seen in
    several variants are set aside. `variant` names the column with the variant seen, `control` one of its
    values. `goals` are columns: a list of conversions (1 or 0, true or false), or a mapping to
    `custom_event` for those and `revenue` for amounts in major units; the first is the primary goal.
    `timestamp` gives days, in `timezone`, and with them the impact in a year. `weights` say how visitors
    were meant to be split, by variant: evenly by default. Where weights changed, `weight_epochs` say since
    when there were which, as by a bandit (`traffic_strategy`). `less_is_better` names goals to be lowered.
    `covariates` map goals to columns with what the same visitor did beforehand (null where that is not
    known), by which they are adjusted (CUPED). `orders` map revenue goals to columns that count the orders
    in a row: they are judged on revenue per order. `caps` cut revenue at a percentile (50 to 100) of the
    visitors who paid.

    Raises InvalidEvidenceError where a column is missing or holds what it can't mean, and
    InvalidDesignError where there can be no such experiment, as with more than 20 variants.
    """
    kinds: Mapping[str, GoalKind] = (
        goals if isinstance(goals, Mapping) else dict.fromkeys(goals, "custom_event")
    )
    more = ValueColumns(covariates=covariates, orders=orders, caps=caps)
    more.demand_sense(kinds)
    if more.goals and len(weight_epochs):
        raise InvalidEvidenceError("where weights changed there can be no covariates, orders or caps")
    rows = read_rows(
        df, Columns(variant=variant, goals=kinds, visitor=visitor, timestamp=timestamp, more=more)
    )
    experiment = experiment_of(
        rows,
        control=str(control),
        kinds=kinds,
        weights=weights,
        less_is_better=less_is_better,
        analysis_method=analysis_method,
        confidence_level=confidence_level,
        traffic_strategy=traffic_strategy,
        statistics=replace(statistics, cuped=True) if covariates else statistics,
        more=more,
        name=name,
    )
    arms = [one.name for one in experiment.variants]
    count_rows = partial(count, variants=arms, goals=kinds, timezone=timezone, is_distinct=visitor is None)
    observed = count_rows(rows, more=more)
    evidence = with_epochs(observed, rows, weight_epochs, variants=arms, count=count_rows)
    return analyze(experiment, evidence, now=experiment.updated_at, currency=currency)
