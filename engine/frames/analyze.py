"""Analysis of an experiment in a DataFrame, with the same report as the service."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.analysis.analyze import analyze
from engine.analysis.evidence.recorded_looks import RecordedLook, with_ids
from engine.analysis.results.report import Report
from engine.currencies import USUAL_CURRENCY
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment, Goal
from engine.design.variants import Variant
from engine.errors import InvalidEvidenceError
from engine.frames.covariates import require_no_copies
from engine.frames.currency import Currency, currency_of, require_goals
from engine.frames.epochs import WeightEpochs
from engine.frames.guardrail_margins import with_guardrails
from engine.frames.kinds import (
    GoalMeasure,
    Goals,
    goal_type_of,
    kinds_of,
    measure_of,
    require_plain,
)
from engine.frames.observations import observe, observe_sums, require_one_source
from engine.frames.rows import NO_VALUE_COLUMNS, Columns, ValueColumns
from engine.frames.seen import Seen
from engine.frames.service_record import ServiceRecord
from engine.local_days import EPOCH
from engine.vocabulary import AnalysisMethod, TrafficStrategy

__all__ = ["analyze_frame"]

_DEFAULTS = Statistics()


def analyze_frame(  # noqa: PLR0913  # all but the control and the goals have defaults
    df: Any = None,  # noqa: ANN401  # any frame that narwhals supports
    *,
    control: object,
    goals: Goals,
    variant: str = "variant",
    visitor: str | None = None,
    timestamp: str | None = None,
    timezone: str = "UTC",
    sums: Any = None,  # noqa: ANN401  # as df
    weights: Mapping[str, float] | None = None,
    weight_epochs: WeightEpochs = (),
    traffic_strategy: TrafficStrategy = "fixed",
    less_is_better: Collection[str] = (),
    analysis_method: AnalysisMethod = "frequentist",
    confidence_level: int = 95,
    covariates: Mapping[str, str | Sequence[str]] = {},
    orders: Mapping[str, str] = {},
    caps: Mapping[str, float] = {},
    guardrails: Mapping[str, float] = {},
    statistics: Statistics = _DEFAULTS,
    running: bool = False,
    looks: Sequence[RecordedLook] = (),
    service: ServiceRecord | None = None,
    currency: Currency = "USD",
    name: str = "Data frame",
) -> Report:
    """Analyze the experiment in a DataFrame, with the same report as the service.

    Args:
        df: A Polars frame (eager or lazy), a pandas frame, a PyArrow table, a DuckDB relation or any other
            frame that narwhals supports, with one row per visitor, or several with `visitor`. A lazy table
            of a database or cluster (DuckDB, Spark, Ibis) is counted by its own engine, and only sums are
            fetched; with several covariates, caps, funnels or `weight_epochs` the named columns are.
        control: The value of the control in the column `variant`.
        goals: Columns: a list of conversions (1 or 0, true or false), or a mapping of them to their kinds.
            The first is the primary goal. Kinds are `converted` (or `custom_event`): 1 or 0 in any row;
            `revenue`: amounts in major units of `currency`, added up; `count`: whole numbers from 0 on,
            added up; `value`: any numbers in a unit of their own, added up; `mean`: their mean over the
            visitor's rows, where visitors without a number (null or NaN) are left out; `retained`: 1 or 0,
            null while it is not known yet: such visitors are left out of the comparison;
            `Ratio(numerator, denominator)`: the ratio of the sums of two columns; `Funnel(step, step, …)`:
            ordered steps, of which the last is the goal; `steps` in the results count them all. A missing
            number, null or NaN, adds nothing where numbers are added up, and is no conversion.
        variant: The column with the variant.
        visitor: The column of visitor ids, where a visitor may have several rows: one converts if any row
            does, revenue adds up, and visitors seen in several variants are excluded.
        timestamp: The column with times, which gives days, and with them the impact in a year.
        timezone: The IANA time zone of the days.
        sums: Instead of `df` a table of counts and sums (docs/statistics.md has its columns): a row per
            variant, or several that add up, as by day (`timestamp` names the column) or segment. It has
            `visitors`, for each goal a column named like it (visitors who converted), and for values
            `<goal>_sum` and `<goal>_squares`, or `<goal>_mean` and `<goal>_variance`.
        weights: The planned weights by variant; equal by default.
        weight_epochs: Where weights changed, the start times of each with the weights, as of a bandit.
        traffic_strategy: `fixed`, or `bandit` where weights followed the results.
        less_is_better: Goals to be lowered.
        analysis_method: `frequentist` or `bayesian`.
        confidence_level: In percent, from 50 to 99.
        covariates: Goals with columns of the visitor's value from before the experiment (null where
            unknown), used for CUPED: one, or a list of several, in which text is a category at the first
            exposure, such as a country.
        orders: Revenue goals with columns that count the orders in a row: their metric is revenue per order.
        caps: Goals with a percentile (50 to 100) of the amounts, counts or values above 0, at which they
            are capped.
        guardrails: Goals other than the primary one with the acceptable loss, in percent of the control: a
            test that loses more is rolled back, or reviewed.
        statistics: Settings beyond method and level: sequential tests, corrections, priors.
        running: Whether the test goes on. By default it counts as finished, judged by this one look. One
            that goes on is judged by its plan, and before that by what holds at every look; its running
            days are those from the first to the last `timestamp`, which it needs.
        looks: The looks recorded so far, in order, with comparisons by goal column and variant: what they
            established is kept, and a look at the plan stays the one that judges.
        service: Instead of `running`, the times, pauses and settings of an experiment that a service ran;
            `Snapshot.analysis` gives both.
        currency: The currency of revenue, an ISO 4217 code; or a mapping of goals to theirs, where they
            differ.
        name: The name of the experiment in the report.

    Returns:
        The report: results, decisions, days and health checks, which shows itself in a notebook.

    Raises:
        InvalidEvidenceError: A column is missing, or a value is not valid.
        InvalidDesignError: The experiment is not valid, as with more than 20 variants.

    Example:
        >>> import polars as pl, truelift
        >>> bought = [1] * 100 + [0] * 900 + [1] * 150 + [0] * 850
        >>> visitors = pl.DataFrame({"variant": ["A"] * 1000 + ["B"] * 1000, "bought": bought})
        >>> report = truelift.analyze(visitors, control="A", goals=["bought"])
        >>> report.primary.decision.recommendation_label
        'Ship it'
        >>> f"{report.primary.variants[1].improvement:+.0%}"
        '+50%'
    """
    if running and service is not None:
        raise InvalidEvidenceError("service has the status of the experiment: leave out running")
    if running and timestamp is None:
        raise InvalidEvidenceError("a running test is judged by its days: name the column with timestamp")
    require_one_source(df, sums)
    if sums is not None and len(weight_epochs):
        raise InvalidEvidenceError("sums have no times of visitors: leave out weight_epochs")
    kinds = kinds_of(goals)
    require_goals(currency, kinds)
    extra = ValueColumns(covariates=covariates, orders=orders, caps=caps)
    extra.validate(kinds)
    if len(weight_epochs):
        require_plain(kinds, "an analysis with changed weights", besides=("count", "value", "ratios"))
    if extra.goals and len(weight_epochs):
        raise InvalidEvidenceError("where weights changed there can be no covariates, orders or caps")
    columns = Columns(
        variant=variant,
        goals=kinds,
        visitor=visitor,
        timestamp=timestamp,
        extra=extra,
        currency=currency,
    )
    observations = (
        observe(df, columns, timezone=timezone, weight_epochs=weight_epochs)
        if sums is None
        else observe_sums(sums, columns, timezone=timezone)
    )
    experiment = experiment_of(
        observations.seen,
        control=str(control),
        kinds=kinds,
        weights=weights,
        less_is_better=less_is_better,
        analysis_method=analysis_method,
        confidence_level=confidence_level,
        traffic_strategy=traffic_strategy,
        statistics=replace(statistics, cuped=True) if covariates else statistics,
        extra=extra,
        currency=currency,
        is_running=running,
        name=name,
    )
    if guardrails:
        experiment = with_guardrails(experiment, guardrails)
    if service is not None:
        experiment = service.complete_experiment(experiment)
    counted = observations.count([one.name for one in experiment.variants])
    evidence = replace(counted, is_table=service is None)
    require_no_copies(evidence.values, list(kinds))
    return analyze(
        experiment,
        evidence if service is None else service.complete_evidence(evidence),
        now=experiment.updated_at,
        currency=currency if isinstance(currency, str) else USUAL_CURRENCY,
        looks=with_ids(
            looks,
            goals={one.name: one.id for one in experiment.goals},
            variants={one.name: one.id for one in experiment.variants},
        ),
        is_finished=not running and service is None,
    )


def experiment_of(  # noqa: PLR0913  # keyword arguments of a notebook function
    seen: Seen,
    *,
    control: str,
    kinds: Mapping[str, GoalMeasure],
    weights: Mapping[str, float] | None,
    less_is_better: Collection[str],
    analysis_method: AnalysisMethod,
    confidence_level: int,
    name: str,
    traffic_strategy: TrafficStrategy = "fixed",
    statistics: Statistics = _DEFAULTS,
    extra: ValueColumns = NO_VALUE_COLUMNS,
    currency: Currency = "USD",
    is_running: bool = False,
) -> Experiment:
    """Build the experiment of the data: the control first, the other variants by name, goals as given.

    Raises InvalidEvidenceError where the control, a weight or a goal is not in the data, and
    InvalidDesignError for an invalid experiment.
    """
    arms = _arms(seen.variants, control)
    first, last = seen.first or EPOCH, seen.last or EPOCH
    return Experiment(
        id="frame",
        project_id="frame",
        name=name,
        test_key="frame",
        salt="frame",
        url="https://frame.invalid/",
        created_at=first,
        updated_at=last,
        status="running" if is_running else "completed",
        started_at=first,
        completed_at=None if is_running else last,
        analysis_method=analysis_method,
        confidence_level=confidence_level,
        traffic_strategy=traffic_strategy,
        variants=_variants(arms, weights),
        statistics=statistics,
        goals=_goals(kinds, less_is_better, extra, currency),
    )


def _arms(seen: Sequence[str], control: str) -> list[str]:
    """Order the variants: the control first, the others by name."""
    if control not in seen:
        arms = ", ".join(map(repr, sorted(seen)[:20]))
        raise InvalidEvidenceError(f"the control {control!r} is none of the variants seen: {arms}")
    return [control, *sorted(set(seen) - {control})]


def _variants(arms: Sequence[str], weights: Mapping[str, float] | None) -> tuple[Variant, ...]:
    if weights is not None and set(weights) != set(arms):
        raise InvalidEvidenceError(f"weights must be of the variants seen, {', '.join(map(repr, arms))}")
    return tuple(
        Variant(
            id=f"variant_{i}", name=arm, is_control=i == 0, weight=1.0 if weights is None else weights[arm]
        )
        for i, arm in enumerate(arms)
    )


def _goals(
    kinds: Mapping[str, GoalMeasure],
    less_is_better: Collection[str],
    extra: ValueColumns,
    currency: Currency,
) -> tuple[Goal, ...]:
    if unknown := set(less_is_better) - set(kinds):
        raise InvalidEvidenceError(f"less_is_better names no goals: {', '.join(map(repr, sorted(unknown)))}")
    return tuple(
        Goal(
            id=f"goal_{i}",
            name=name,
            goal_type=goal_type_of(kind),
            is_primary=i == 0,
            config={
                "event_name": name,
                "direction": "decrease" if name in less_is_better else "increase",
                **({} if measure_of(kind) == "converted" else {"measure": measure_of(kind)}),
                **({"cap_percentile": extra.caps[name]} if name in extra.caps and kind == "revenue" else {}),
                **({"per": "order"} if name in extra.orders else {}),
                **(
                    {"currency": currency_of(name, currency)}
                    if kind == "revenue" and not isinstance(currency, str)
                    else {}
                ),
            },
        )
        for i, (name, kind) in enumerate(kinds.items())
    )
