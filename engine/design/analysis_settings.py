"""Statistics settings of an experiment: sequential testing, corrections, CUPED and priors."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from engine.errors import Problem
from engine.validation.records import (
    Record,
    RecordRule,
    as_mapping,
    validate,
)
from engine.validation.values import (
    choice,
    flag,
    list_of,
    number,
    optional,
    shown,
    text,
    whole,
)
from engine.vocabulary import Alternative, Correction, GuardrailRule, Prior, SequentialMethod, words

# One-sided, half of all variants without an effect reach this confidence level, in percent.
LEVEL_OF_CHANCE = 50
PRE_PERIOD: Final = "pre_period"
"""The covariate that is the goal's own value before the first exposure."""
OWN_HISTORY: Final = (PRE_PERIOD,)
MOST_COVARIATES: Final = 10


def _sequential_or_correction(statistics: Record) -> Iterator[Problem]:
    method = statistics.get("sequential", "none")
    if method != "none" and statistics.get("correction") in {"holm", "dunnett"}:
        yield Problem("correction", f"must be bonferroni where sequential is {method}; or look only once")


def _one_sided_or_correction(statistics: Record) -> Iterator[Problem]:
    if statistics.get("alternative") == "one_sided" and statistics.get("correction") in {"holm", "dunnett"}:
        why = "both adjust two-sided p-values"
        yield Problem("correction", f"must be bonferroni where alternative is one_sided: {why}")


def _planned_end(statistics: Record) -> Iterator[Problem]:
    # An invalid planned_sample is absent here, and reported already.
    if statistics.get("sequential") == "group_sequential" and statistics.get("planned_sample", 0) is None:
        yield Problem("planned_sample", "is required where sequential is group_sequential: it ends there")


def _covariates_of_cuped(statistics: Record) -> Iterator[Problem]:
    chosen = statistics.get("covariates", OWN_HISTORY)
    if not chosen:
        yield Problem("covariates", f"is empty: name a covariate such as {PRE_PERIOD}, or turn cuped off")
    elif tuple(chosen) != OWN_HISTORY and not statistics.get("cuped"):
        yield Problem("covariates", "are of cuped, which is off: turn it on, or leave them out")


def _pre_period_used_once(statistics: Record) -> Iterator[Problem]:
    if statistics.get("cuped") and statistics.get("prior") == "pre_period":
        yield Problem("prior", "must not be pre_period where cuped is on: both use what visitors did before")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Statistics settings beyond analysis method and confidence level; locked once visitors are counted."""

    RULES: ClassVar[tuple[RecordRule, ...]] = (
        _sequential_or_correction,
        _one_sided_or_correction,
        _planned_end,
        _covariates_of_cuped,
        _pre_period_used_once,
    )

    sequential: Annotated[
        SequentialMethod,
        choice(words(SequentialMethod)).described(
            "`none`: one look at the end. `always_valid`: intervals that are valid at every look. "
            "`group_sequential`: intervals that are valid at every look up to the planned sample, where the "
            "experiment ends."
        ),
    ] = "none"
    planned_sample: Annotated[
        int | None,
        optional(whole(100, 10**12)).described(
            "Planned number of visitors, all variants together; null to plan by `minimum_effect_percent`. "
            "Required for group_sequential.",
            example=20000,
        ),
    ] = None
    minimum_effect_percent: Annotated[
        float,
        number(0.1, 1000).described(
            "Smallest relevant lift, in percent of the control. Plans the sample where `planned_sample` is "
            'null, and is the margin of "no difference". A goal\'s config may override it.'
        ),
    ] = 10.0
    correction: Annotated[
        Correction,
        choice(words(Correction)).described(
            "Correction for several variants. `bonferroni` raises the threshold; `holm` and `dunnett` adjust "
            "the p-values and keep the confidence level as the threshold."
        ),
    ] = "bonferroni"
    alternative: Annotated[
        Alternative,
        choice(words(Alternative)).described(
            "Alternative hypothesis. `two_sided`: the variant differs. `one_sided`: it is better, so that "
            "the p-value is of the wanted direction alone and compared with all of alpha; a variant loses "
            "where the opposite test is significant."
        ),
    ] = "two_sided"
    guardrails: Annotated[
        GuardrailRule,
        choice(words(GuardrailRule)).described(
            "`non_inferior`: each must be shown to lose no more than its margin. Then winners ship, and the "
            "sample is planned for that. `not_harmed`: none must be shown to lose more."
        ),
    ] = "not_harmed"
    cuped: Annotated[
        bool,
        flag.described(
            "Whether to reduce variance by the `covariates` (CUPED). Results then need fewer visitors and "
            "also carry the unadjusted comparison."
        ),
    ] = False
    covariates: Annotated[
        tuple[str, ...],
        list_of(text(255), at_most=MOST_COVARIATES).described(
            "What `cuped` adjusts by. `pre_period`, the goal's own value before the first exposure, and "
            "attributes at that time: segment dimensions such as `country`, or `custom:` and another's key."
        ),
    ] = OWN_HISTORY
    pre_period_days: Annotated[
        int, whole(1, 365).described("Days before the first exposure that `cuped` and `prior` use.")
    ] = 14
    prior: Annotated[
        Prior,
        choice(words(Prior)).described(
            "Prior of a Bayesian experiment. `flat`: none. `pre_period`: conversion rates as in the "
            "pre-period. `lift`: a normal distribution of the relative lift."
        ),
    ] = "flat"
    prior_lift_percent: Annotated[
        float, number(-50, 100).described("Mean of the `lift` prior, in percent.")
    ] = 0.0
    prior_deviation_percent: Annotated[
        float, number(0.1, 1000).described("Standard deviation of the `lift` prior, in percent.")
    ] = 10.0

    def __post_init__(self) -> None:
        validate(self)

    @property
    def uses_pre_period(self) -> bool:
        """Whether the analysis uses visitors' behavior before their first exposure."""
        return (self.cuped and PRE_PERIOD in self.covariates) or self.prior == "pre_period"

    @property
    def adjusts_by_attributes(self) -> bool:
        """Whether covariates other than the goals' own history adjust the results."""
        return self.cuped and self.covariates != OWN_HISTORY


def statistics_fit(experiment: Record) -> Iterator[Problem]:
    """Check the settings against the analysis method and the traffic strategy.

    Priors need a Bayesian analysis, corrections and one-sided tests a frequentist one; sequential tests and
    CUPED need fixed weights, and a one-sided test an alpha below one half.
    """
    chosen = as_mapping(experiment.get("statistics", {}))
    refused: dict[str, tuple[object, str]] = {}
    if experiment.get("traffic_strategy") == "bandit":
        refused["sequential"] = ("none", "for a bandit, whose weights move")
        refused["cuped"] = (False, "for a bandit, which is judged epoch by epoch")
    if experiment.get("analysis_method") == "bayesian":
        why = "for a bayesian experiment, or make the experiment frequentist"
        refused |= {
            "sequential": ("none", why),
            "correction": ("bonferroni", why),
            "alternative": ("two_sided", why),
        }
    else:
        why = "for a frequentist experiment, or make the experiment bayesian"
        refused["prior"] = ("flat", why)
        if experiment.get("confidence_level") == LEVEL_OF_CHANCE:
            why = f"at a confidence_level of {LEVEL_OF_CHANCE}: half of tests reach it by chance alone"
            refused["alternative"] = ("two_sided", why)
    for name, (plain, why) in refused.items():
        if chosen.get(name, plain) != plain:
            word = plain if isinstance(plain, str) else shown(plain)
            yield Problem(f"statistics.{name}", f"must be {word} {why}")
