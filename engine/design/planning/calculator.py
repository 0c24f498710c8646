"""Sample size calculator: a validated question and its answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import fields as fields_of
from typing import Annotated, Any, ClassVar

import numpy as np

from engine.design.analysis_settings import LEVEL_OF_CHANCE
from engine.design.planning.required_sample import NON_INFERIORITY_LEVEL, power_of_each
from engine.design.planning.sample_size import (
    Mean,
    Metric,
    Plan,
    Share,
    days_to_go,
    design_effect,
    detectable_lift,
    in_whole_weeks,
    visitors_needed,
)
from engine.design.planning.stopping import Stopping, StoppingMethod
from engine.errors import InvalidDesignError, Problem
from engine.shown_result import ShownResult
from engine.typed_records import record_of
from engine.validation.record_fields import writable
from engine.validation.records import (
    Record,
    RecordRule,
    problems_in,
    unknown_keys,
    validate,
)
from engine.validation.values import (
    choice,
    number,
    optional,
    whole,
)
from engine.vocabulary import Alternative, words

_LARGEST = 10**12
_TINY = 1e-6
_MOST_TIMES = 10**6


def _one_metric(question: Record) -> Iterator[Problem]:
    if not {"baseline_rate", "baseline_mean", "standard_deviation"} <= question.keys():
        # An invalid field is absent here, and reported already.
        return
    rate, mean = question["baseline_rate"], question["baseline_mean"]
    if (rate is None) == (mean is None):
        yield Problem("baseline_rate", "give either baseline_rate, or baseline_mean and standard_deviation")
    if mean is not None and question["standard_deviation"] is None:
        yield Problem("standard_deviation", "is required with baseline_mean")


def _one_unknown(question: Record) -> Iterator[Problem]:
    names = ("effect", "visitors_per_variant")
    if any(name not in question for name in names):
        return
    known = [question[name] is not None for name in names]
    if all(known) or not any(known):
        yield Problem("effect", "give effect, or visitors_per_variant to compute the detectable effect")


def _more_power_than_chance(question: Record) -> Iterator[Problem]:
    power, level = question.get("power"), question.get("confidence_level")
    if power is not None and level is not None and power <= 100 - level:
        yield Problem("power", "must be above 100 - confidence_level; power would not exceed chance")


def _one_sided_above_chance(question: Record) -> Iterator[Problem]:
    if question.get("alternative") == "one_sided" and question.get("confidence_level") == LEVEL_OF_CHANCE:
        why = f"at a confidence_level of {LEVEL_OF_CHANCE}: half of tests reach it by chance alone"
        yield Problem("alternative", f"must be two_sided {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleQuestion:
    """A metric, and either the effect to detect or the number of visitors.

    Rates, effects, levels and margins are percents; effects are relative to the control.
    """

    RULES: ClassVar[tuple[RecordRule, ...]] = (
        _one_metric,
        _one_unknown,
        _more_power_than_chance,
        _one_sided_above_chance,
    )

    baseline_rate: Annotated[
        float | None,
        optional(number(_TINY, 100 - _TINY)).described(
            "Conversion rate of the control, in percent.", example=10.0
        ),
    ] = None
    baseline_mean: Annotated[
        float | None,
        optional(number(_TINY, _LARGEST)).described(
            "Instead: the control's mean, in any unit.", example=2400.0
        ),
    ] = None
    standard_deviation: Annotated[
        float | None,
        optional(number(_TINY, _LARGEST)).described("Its standard deviation per visitor.", example=9100.0),
    ] = None
    effect: Annotated[
        float | None,
        optional(number(-99, 10_000)).described("Lift to detect, in percent of the control.", example=10.0),
    ] = None
    visitors_per_variant: Annotated[
        int | None,
        optional(whole(2, _LARGEST)).described("Instead of effect.", example=14751),
    ] = None
    daily_visitors: Annotated[
        float | None,
        optional(number(_TINY, _LARGEST)).described(
            "Visitors a day, all variants together; gives the days.", example=1000.0
        ),
    ] = None
    window: Annotated[
        int | None,
        optional(whole(1, 365)).described(
            "Days until an outcome is known, as of a goal's `window`.", example=7
        ),
    ] = None
    confidence_level: Annotated[int, whole(50, 99).described("Confidence level, in percent.")] = 95
    alternative: Annotated[
        Alternative,
        choice(words(Alternative)).described("`one_sided`: a test of the wanted direction alone."),
    ] = "two_sided"
    power: Annotated[
        float, number(1, 99.9).described("Power: percent of tests that detect a true effect.")
    ] = 80.0
    variants: Annotated[int, whole(2, 20).described("Variants, the control included.")] = 2
    method: Annotated[
        StoppingMethod,
        choice(words(StoppingMethod)).described("`fixed`: one look at the end; the others: several."),
    ] = "fixed"
    looks: Annotated[int, whole(1, 365).described("Looks of always_valid and group_sequential.")] = 28
    margin: Annotated[
        float | None,
        optional(number(0, 99)).described("Non-inferiority margin, in percent of the control.", example=1.0),
    ] = None
    guardrails: Annotated[
        int,
        whole(0, 49).described("Guardrails to be shown non-inferior, which share the power."),
    ] = 0
    correlation: Annotated[
        float,
        number(-0.99, 0.99).described("Correlation with the pre-period value, for CUPED."),
    ] = 0.0
    design_effect: Annotated[float, number(1, _MOST_TIMES).described("Of clusters.")] = 1.0

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SampleAnswer(ShownResult):
    """Visitors, the smallest lift they detect (percent) and days; None where there is no such number."""

    visitors_per_variant: int | None
    visitors_total: int | None
    detectable_effect: float | None
    days: int | None
    days_in_whole_weeks: int | None


def read_question(fields: Mapping[str, Any]) -> SampleQuestion:
    """Read a question from JSON-like input; raises InvalidDesignError with every problem."""
    names = writable(SampleQuestion)
    known = {name: fields[name] for name in names if name in fields}
    problems = [*problems_in(known, SampleQuestion), *unknown_keys(fields, names, "the question")]
    if problems:
        raise InvalidDesignError(problems)
    return record_of(known, SampleQuestion)


def effect_of_clusters(
    cluster_size: float | None, intra_class_correlation: float | None, cluster_size_variation: float = 0.0
) -> float:
    """Compute the design effect of clusters; 1 without them.

    Raises InvalidDesignError with every number that clusters can't have, and for one without the other.
    """
    if cluster_size is None and intra_class_correlation is None and not cluster_size_variation:
        return 1.0
    given = {
        "cluster_size": (cluster_size, 1, _MOST_TIMES),
        "intra_class_correlation": (intra_class_correlation, 0, 1),
        "cluster_size_variation": (cluster_size_variation, 0, 100),
    }
    problems = [
        Problem(name, f"is from {low} to {high:,}, with the size and the correlation of clusters both given")
        for name, (value, low, high) in given.items()
        if value is None or not low <= value <= high
    ]
    if problems or cluster_size is None or intra_class_correlation is None:
        raise InvalidDesignError(problems)
    return design_effect(cluster_size, intra_class_correlation, cluster_size_variation)


def percent_hint(question: SampleQuestion) -> str | None:
    """Say what an effect below 1% means where a share may have been meant; None for other effects."""
    effect = question.effect
    if effect is None or not 0 < abs(effect) < 1:
        return None
    given = [f"effect={effect:g} is a change of {effect:g}% of the control"]
    meant = [f"effect={100 * effect:g}"]
    if question.baseline_rate is not None and question.baseline_rate < 1:
        given.insert(0, f"baseline_rate={question.baseline_rate:g} is {question.baseline_rate:g}%")
        meant.insert(0, f"baseline_rate={100 * question.baseline_rate:g}")
    return f"rates and effects are percents: {', and '.join(given)}; for shares give {', '.join(meant)}"


def answer(question: SampleQuestion) -> SampleAnswer:
    """Answer a question for an even split; formulas and their sources are in `sample_size`."""
    metric, plan = _metric(question), _plan(question)
    if question.visitors_per_variant is None:
        visitors = float(visitors_needed(metric, (question.effect or 0.0) / 100, plan))
    else:
        visitors = float(question.visitors_per_variant)
    if not np.isfinite(visitors):
        return SampleAnswer(**dict.fromkeys(field.name for field in fields_of(SampleAnswer)))
    total = round(visitors) * question.variants
    lift = float(detectable_lift(metric, visitors, plan))
    days = _days(total, question)
    return SampleAnswer(
        visitors_per_variant=round(visitors),
        visitors_total=total,
        detectable_effect=100 * lift if np.isfinite(lift) else None,
        days=days,
        days_in_whole_weeks=None if days is None else in_whole_weeks(days),
    )


def _days(total: int, question: SampleQuestion) -> int | None:
    """Compute the days until all visitors have entered and the outcome of the last one is known."""
    entered = days_to_go(total, 0, question.daily_visitors) if question.daily_visitors else None
    return None if entered is None else entered + (question.window or 0)


def _metric(question: SampleQuestion) -> Metric:
    correlation, effect = question.correlation, question.design_effect
    if question.baseline_rate is not None:
        return Share(question.baseline_rate / 100, correlation, effect)
    mean, deviation = question.baseline_mean or 0.0, question.standard_deviation or 0.0
    return Mean(mean, deviation, correlation, effect)


def _plan(question: SampleQuestion) -> Plan:
    power = power_of_each(1 + question.guardrails, together=question.power / 100)
    if question.guardrails and question.margin is not None:
        # As the decision rule tests them: by one look at the plan, for each variant.
        return Plan(alpha=NON_INFERIORITY_LEVEL, power=power, margin=question.margin / 100, is_one_sided=True)
    return Plan(
        alpha=(100 - question.confidence_level) / 100,
        power=power,
        comparisons=question.variants - 1,
        stopping=Stopping(question.method, question.looks),
        margin=None if question.margin is None else question.margin / 100,
        is_one_sided=question.alternative == "one_sided",
    )
