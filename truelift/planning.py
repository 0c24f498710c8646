"""Sample size: visitors, days and detectable effect of a planned test."""

import warnings

from engine.design.planning.calculator import (
    SampleAnswer,
    SampleQuestion,
    answer,
    effect_of_clusters,
    percent_hint,
)
from engine.design.planning.stopping import StoppingMethod
from engine.vocabulary import Alternative

__all__ = ["sample_size"]


def sample_size(  # noqa: PLR0913  # a plan has as many settings; each has a default
    *,
    baseline_rate: float | None = None,
    baseline_mean: float | None = None,
    standard_deviation: float | None = None,
    effect: float | None = None,
    visitors_per_variant: int | None = None,
    daily_visitors: float | None = None,
    window: int | None = None,
    confidence_level: int = 95,
    alternative: Alternative = "two_sided",
    power: float = 80.0,
    variants: int = 2,
    method: StoppingMethod = "fixed",
    looks: int = 28,
    margin: float | None = None,
    guardrails: int = 0,
    correlation: float = 0.0,
    cluster_size: float | None = None,
    cluster_size_variation: float = 0.0,
    intra_class_correlation: float | None = None,
) -> SampleAnswer:
    """Compute the visitors a test needs for an effect, or the effect that its visitors can detect.

    Rates, effects, levels and margins are percents, and effects are relative to the control:
    `baseline_rate=4, effect=10` is a change from 4% to 4.4%. Give `baseline_rate` for a conversion goal,
    or `baseline_mean` and `standard_deviation` (in any one unit) for revenue per visitor; and either
    `effect`, or `visitors_per_variant` for the smallest effect they detect with this `power`.
    `alternative="one_sided"` tests the wanted direction alone, at all of alpha.
    `daily_visitors` of all variants together give the days, which end `window` days after the last visitor
    entered, where outcomes are known so many days after the first exposure. `method` is `fixed` (one look
    at the end), `always_valid` or `group_sequential`, with `looks` evenly spaced. `margin` plans a test of
    non-inferiority. `guardrails` is the number of those to be shown non-inferior beside the primary goal,
    which share the power: ask for the primary goal, and with its `margin` and `effect=0` for each guardrail
    (at a one-sided 5%), and take the largest sample. `correlation` is that of the metric with a covariate
    from before the test (CUPED). Where accounts or stores are assigned, `cluster_size` is the mean number of
    visitors in one, `cluster_size_variation` the standard deviation of that number over its mean, and
    `intra_class_correlation` that of visitors of one: `visitors_per_variant` are still visitors.

    The answer has `visitors_per_variant`, `visitors_total`, `detectable_effect` (percent), `days` and
    `days_in_whole_weeks`; each is None where there is no such number. Formulas and their sources are in
    `engine.design.planning.sample_size`. Raises InvalidDesignError with every problem of the arguments, and
    warns (UserWarning) of an effect below 1%, which may have been meant as a share.
    """
    question = SampleQuestion(
        baseline_rate=baseline_rate,
        baseline_mean=baseline_mean,
        standard_deviation=standard_deviation,
        effect=effect,
        visitors_per_variant=visitors_per_variant,
        daily_visitors=daily_visitors,
        window=window,
        confidence_level=confidence_level,
        alternative=alternative,
        power=power,
        variants=variants,
        method=method,
        looks=looks,
        margin=margin,
        guardrails=guardrails,
        correlation=correlation,
        design_effect=effect_of_clusters(cluster_size, intra_class_correlation, cluster_size_variation),
    )
    hint = percent_hint(question)
    if hint is not None:
        warnings.warn(hint, stacklevel=2)
    return answer(question)
