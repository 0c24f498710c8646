"""How an experiment's results are judged, beyond method and level: fixed before the data come in."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from engine.design.checks import choice, optional, whole
from engine.design.records import Record, RecordRule, enforce, view_of
from engine.design.vocabulary import Correction, SequentialMethod, words
from engine.errors import Problem


def _one_guard_at_a_time(statistics: Record) -> Iterator[Problem]:
    if statistics.get("sequential") == "always_valid" and statistics.get("correction") in {"holm", "dunnett"}:
        yield Problem("correction", "must be bonferroni where sequential is always_valid; or look only once")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """The defaults need no statistician: one look at the end, and Bonferroni over the variants.

    `planned_sample` is how many visitors of all variants together the test was planned for.
    """

    RULES: ClassVar[tuple[RecordRule, ...]] = (_one_guard_at_a_time,)

    sequential: Annotated[SequentialMethod, choice(words(SequentialMethod))] = "none"
    planned_sample: Annotated[int | None, optional(whole(100, 10**12))] = None
    correction: Annotated[Correction, choice(words(Correction))] = "bonferroni"

    def __post_init__(self) -> None:
        enforce(self)


def statistics_fit(experiment: Record) -> Iterator[Problem]:
    """What is chosen for p values is of no use to a posterior, nor daily looking to weights that move."""
    chosen = view_of(experiment.get("statistics", {}))
    if experiment.get("analysis_method") == "bayesian":
        for name, plain in (("sequential", "none"), ("correction", "bonferroni")):
            if chosen.get(name, plain) != plain:
                message = f"must be {plain} for a bayesian experiment, or make the experiment frequentist"
                yield Problem(f"statistics.{name}", message)
    elif experiment.get("traffic_strategy") == "bandit" and chosen.get("sequential") == "always_valid":
        yield Problem("statistics.sequential", "must be none for a bandit, whose weights move")
