"""Situation of an experiment: its counts and settings, and the report of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import numpy as np

from engine.analysis.analyze import analyze
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.recorded_looks import RecordedLook
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.analysis.results.report import Report
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.variants import Variant
from engine.stats.moments import Moments
from tests.builders import STARTED, a_goal, an_experiment
from tests.observations import observed


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Counts by variant (the control first), goals first where there are several, and what else holds.

    `visitors` and `conversions` are at running day `day`; `plan` are those of an earlier look that is
    recorded. `known` are visitors of known outcome, goals by variants. `cents` are mean and standard
    deviation per visitor, by variant; `cap` caps them.
    """

    visitors: Sequence[int]
    conversions: Any
    day: int = 14
    status: str = "running"
    goals: tuple[Goal, ...] = (a_goal(),)
    statistics: Statistics = field(default_factory=Statistics)
    weights: Sequence[float] | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    plan: "Situation | None" = None
    cents: Sequence[tuple[float, float]] | None = None
    uncapped: Sequence[tuple[float, float]] | None = None
    apart: int = 0
    known: Sequence[Sequence[int]] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def report(self) -> Report:
        """Analyze the situation."""
        return analyze(
            self.experiment(),
            self.evidence(),
            now=STARTED + timedelta(days=self.day),
            looks=self._looks(),
            **self.options,
        )

    def experiment(self) -> Experiment:
        """Build the experiment: its control is `A`, the variants `B` and so on."""
        ended = {"completed_at": STARTED + timedelta(days=self.day)} if self.status == "completed" else {}
        variants = tuple(
            Variant(id=f"var_{name.lower()}", name=name, weight=weight, is_control=name == "A")
            for name, weight in zip("ABCDEF", self.weights or [1] * len(self.visitors), strict=False)
        )
        fields = {"status": self.status, "goals": self.goals, "statistics": self.statistics, **ended}
        return an_experiment(variants=variants, **{**fields, **self.settings})

    def evidence(self) -> Evidence:
        """Build the evidence, spread over the days."""
        cents = None if self.cents is None else self._moments(self.uncapped or self.cents)
        overrides: dict[str, Any] = {"several_variants": self.apart}
        if self.known is not None:
            overrides["observed"] = np.array(self.known)
        if self.uncapped is not None and self.cents is not None:
            values = VisitorValues.of(self._moments(self.cents))
            capped = np.full(values.capped.shape, 9)
            overrides["values"] = replace(values, caps=np.full(len(self.goals), 50_000.0), capped=capped)
        found = observed(self.visitors, self.conversions, cents=cents, days=self.day, **overrides)
        return replace(found, **self.more)

    def _moments(self, cents: Sequence[tuple[float, float]]) -> Moments:
        n = np.array([self.visitors] * len(self.goals), np.float64)
        mean, deviation = (np.array([part] * len(self.goals)) for part in zip(*cents, strict=True))
        return Moments(n, mean, n * deviation**2)

    def _looks(self) -> tuple[RecordedLook, ...]:
        if self.plan is None:
            return ()
        look = self.plan.report().due_look
        assert look is not None
        assert look.is_at_plan
        return (look,)

    @property
    def numbers(self) -> str:
        """Describe what is given, in one line."""
        rows = [list(self.conversions)] if np.ndim(self.conversions) == 1 else list(self.conversions)
        parts = []
        for goal, hits in zip(self.goals, rows, strict=True):
            arms = zip("ABCDEF", hits, self.visitors, strict=False)
            parts.append(f"{goal.name} " + ", ".join(f"{name} {hit:,}/{n:,}" for name, hit, n in arms))
        money = "" if self.cents is None else f"; cents {[mean for mean, _ in self.uncapped or self.cents]}"
        more = f", capped {[mean for mean, _ in self.cents or ()]}" if self.uncapped else ""
        record = "" if self.plan is None else f"; recorded on day {self.plan.day}: {self.plan.numbers}"
        return f"{'; '.join(parts)}{money}{more}; day {self.day}, {self.status}{record}"
