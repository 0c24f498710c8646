"""Analysis of an experiment in a DataFrame, with the same report as the service."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.analysis.analyze import analyze
from engine.analysis.evidence.recorded_looks import RecordedLook, with_ids
from engine.analysis.results.report import Report
from engine.currencies import USUAL_CURRENCY
from engine.design.analysis_settings import Statistics
from engine.errors import InvalidEvidenceError
from engine.frames.clusters import require_clusters_apply
from engine.frames.covariates import require_no_copies
from engine.frames.epochs import WeightEpochs
from engine.frames.former_arguments import refuse_former_arguments
from engine.frames.frame_experiment import FrameExperiment
from engine.frames.kinds import Goals, goals_of
from engine.frames.observations import observe, observe_sums, require_one_source
from engine.frames.rows import Columns
from engine.frames.service_record import ServiceRecord
from engine.frames.switchbacks import Switchback
from engine.vocabulary import AnalysisMethod, TrafficStrategy

__all__ = ["analyze_frame"]


@refuse_former_arguments
def analyze_frame(  # noqa: PLR0913  # all but the control and the goals have defaults
    df: Any = None,  # noqa: ANN401  # any frame that narwhals supports
    *,
    control: object,
    goals: Goals,
    variant: str = "variant",
    visitor: str | None = None,
    cluster: str | None = None,
    switchback: Switchback | None = None,
    timestamp: str | None = None,
    timezone: str = "UTC",
    sums: Any = None,  # noqa: ANN401  # as df
    weights: Mapping[str, float] | None = None,
    weight_epochs: WeightEpochs = (),
    traffic_strategy: TrafficStrategy = "fixed",
    analysis_method: AnalysisMethod = "frequentist",
    confidence_level: int = 95,
    statistics: Statistics | None = None,
    running: bool = False,
    looks: Sequence[RecordedLook] = (),
    service: ServiceRecord | None = None,
    currency: str = USUAL_CURRENCY,
    name: str = "Data frame",
) -> Report:
    """Analyze the experiment in a DataFrame: `truelift.analyze(visitors, control="A", goals=["bought"])`.

    Args:
        df: A table of Polars, pandas, PyArrow, DuckDB, Spark or Ibis: a row per visitor, or more with ids.
        control: The value of the control in the column `variant`.
        goals: Kinds by name, "count" or with options `Count(covariates="before")`, the primary goal first.
        variant: The column with the variant.
        visitor: The column of visitor ids, where a visitor may have several rows.
        cluster: The column of what was assigned as a whole, such as "account" or "store".
        switchback: Instead of `cluster`, the windows of a test that switched everyone from time to time.
        timestamp: The column with times, which gives days, and with them the impact in a year.
        timezone: The IANA time zone of the days.
        sums: Instead of `df`, a table of counts and sums by variant (docs/statistics.md has its columns).
        weights: The planned weights by variant; equal by default.
        weight_epochs: Where weights changed, the start times of each with the weights, as of a bandit.
        traffic_strategy: `fixed`, or `bandit` where weights followed the results.
        analysis_method: `frequentist` or `bayesian`.
        confidence_level: In percent, from 50 to 99.
        statistics: Settings beyond method and level: sequential tests, corrections, priors.
        running: Whether the test goes on, and is judged by its plan; by default it is judged as finished.
        looks: The looks recorded so far, by which the plan stays judged; `Snapshot.analysis` gives them.
        service: Instead of `running`, what a service knows of the test; `Snapshot.analysis` gives it.
        currency: The ISO 4217 code of revenue whose goal names no currency.
        name: The name of the experiment in the report.

    Kinds are "converted" (as of a list of goals), "revenue", "count", "value", "mean" and "retained"; with
    options (see `help(truelift.Revenue)`) Converted, Revenue, Count, Value, Mean, Retained, Ratio, Funnel.
    The report is that of the service. Raises InvalidEvidenceError for data, and InvalidDesignError for
    settings, that are not valid.

    Example:
        >>> import polars as pl, truelift
        >>> bought = [1] * 100 + [0] * 900 + [1] * 150 + [0] * 850
        >>> visitors = pl.DataFrame({"variant": ["A"] * 1000 + ["B"] * 1000, "bought": bought})
        >>> truelift.analyze(visitors, control="A", goals=["bought"]).primary.decision.recommendation_label
        'Ship it'
    """
    require_one_source(df, sums, weight_epochs, switchback or cluster)
    _require_status(running=running, timestamp=timestamp, service=service)
    columns = Columns(
        variant=variant,
        goals=goals_of(goals),
        visitor=visitor,
        timestamp=timestamp,
        currency=currency,
        cluster=cluster,
    )
    if switchback is not None:
        df, columns = switchback.in_windows(df, columns)
    chosen = statistics or Statistics()
    require_clusters_apply(columns, chosen, has_epochs=len(weight_epochs) > 0)
    observations = (
        observe(df, columns, timezone=timezone, weight_epochs=weight_epochs)
        if sums is None
        else observe_sums(sums, columns, timezone=timezone)
    )
    settings = FrameExperiment(
        name=name,
        control=str(control),
        weights=weights,
        analysis_method=analysis_method,
        confidence_level=confidence_level,
        traffic_strategy=traffic_strategy,
        statistics=chosen,
        is_running=running,
    )
    experiment = settings.of(observations.seen, columns.goals)
    if service is not None:
        experiment = service.complete_experiment(experiment)
    counted = observations.count([one.name for one in experiment.variants])
    evidence = replace(
        counted,
        is_table=service is None,
        covariates={
            place: goal.covariate_columns
            for place, goal in enumerate(columns.goals.values())
            if goal.covariates
        },
    )
    require_no_copies(evidence.values, list(columns.goals))
    return analyze(
        experiment,
        evidence if service is None else service.complete_evidence(evidence),
        now=experiment.updated_at,
        currency=currency,
        looks=with_ids(
            looks,
            goals={one.name: one.id for one in experiment.goals},
            variants={one.name: one.id for one in experiment.variants},
        ),
        is_finished=not running and service is None,
    )


def _require_status(*, running: bool, timestamp: str | None, service: ServiceRecord | None) -> None:
    """Raise InvalidEvidenceError for a status that is said twice, and a running test without days."""
    if running and service is not None:
        raise InvalidEvidenceError("service has the status of the experiment: leave out running")
    if running and timestamp is None:
        raise InvalidEvidenceError("a running test is judged by its days: name the column with timestamp")
