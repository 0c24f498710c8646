"""How an experiment's results are judged, beyond method and level: fixed before the data come in."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from engine.design.validation.records import (
    Record,
    RecordRule,
    as_mapping,
    validate,
)
from engine.design.validation.values import (
    choice,
    flag,
    number,
    optional,
    shown,
    whole,
)
from engine.design.vocabulary import Correction, Prior, SequentialMethod, words
from engine.errors import Problem


def _one_guard_at_a_time(statistics: Record) -> Iterator[Problem]:
    method = statistics.get("sequential", "none")
    if method != "none" and statistics.get("correction") in {"holm", "dunnett"}:
        yield Problem("correction", f"must be bonferroni where sequential is {method}; or look only once")


def _an_end_to_plan_for(statistics: Record) -> Iterator[Problem]:
    # One that makes no sense is left out here, and named already.
    if statistics.get("sequential") == "group_sequential" and statistics.get("planned_sample", 0) is None:
        yield Problem("planned_sample", "is required where sequential is group_sequential: it ends there")


def _the_past_once(statistics: Record) -> Iterator[Problem]:
    if statistics.get("cuped") and statistics.get("prior") == "pre_period":
        yield Problem("prior", "must not be pre_period where cuped is on: both use what visitors did before")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """The defaults need no statistician: one look at the end, and Bonferroni over the variants.

    `planned_sample` is how many visitors of all variants together the test was planned for. `cuped` takes
    away what visitors did in the `pre_period_days` before their first exposure. `prior` is what is believed
    beforehand: nothing (`flat`), that the conversion rate is about that of the pre-period, or that the
    relative lift is normal around `prior_lift_percent` with `prior_deviation_percent`.
    """

    RULES: ClassVar[tuple[RecordRule, ...]] = (
        _one_guard_at_a_time,
        _an_end_to_plan_for,
        _the_past_once,
    )

    sequential: Annotated[SequentialMethod, choice(words(SequentialMethod))] = "none"
    planned_sample: Annotated[int | None, optional(whole(100, 10**12))] = None
    correction: Annotated[Correction, choice(words(Correction))] = "bonferroni"
    cuped: Annotated[bool, flag] = False
    pre_period_days: Annotated[int, whole(1, 365)] = 14
    prior: Annotated[Prior, choice(words(Prior))] = "flat"
    prior_lift_percent: Annotated[float, number(-50, 100)] = 0.0
    prior_deviation_percent: Annotated[float, number(0.1, 1000)] = 10.0

    def __post_init__(self) -> None:
        validate(self)

    @property
    def uses_pre_period(self) -> bool:
        """Whether what visitors did before their first exposure matters."""
        return self.cuped or self.prior == "pre_period"


def statistics_fit(experiment: Record) -> Iterator[Problem]:
    """A prior is for posteriors, corrections are for p values; looks and past need weights that stay."""
    chosen = as_mapping(experiment.get("statistics", {}))
    refused: dict[str, tuple[object, str]] = {}
    if experiment.get("traffic_strategy") == "bandit":
        refused["sequential"] = ("none", "for a bandit, whose weights move")
        refused["cuped"] = (False, "for a bandit, which is judged epoch by epoch")
    if experiment.get("analysis_method") == "bayesian":
        why = "for a bayesian experiment, or make the experiment frequentist"
        refused |= {"sequential": ("none", why), "correction": ("bonferroni", why)}
    else:
        why = "for a frequentist experiment, or make the experiment bayesian"
        refused["prior"] = ("flat", why)
    for name, (plain, why) in refused.items():
        if chosen.get(name, plain) != plain:
            word = plain if isinstance(plain, str) else shown(plain)
            yield Problem(f"statistics.{name}", f"must be {word} {why}")
