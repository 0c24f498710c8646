"""Goal: an action of visitors that counts as a conversion, and what is measured of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

from engine.design.goals import GOAL_CONFIG, config_fits_type, tracking_of
from engine.design.variants import PartId
from engine.measures.measure import Measure
from engine.measures.measure_table import measure_of
from engine.validation.record_fields import ASSIGNED, filled_in
from engine.validation.records import RecordRule, validate
from engine.validation.values import choice, flag, optional, text, whole
from engine.vocabulary import GoalType, MetricUnit, Summed, words


# No slots: what the config says is worked out once.
@dataclass(frozen=True, kw_only=True)
class Goal:
    """A goal: an action of visitors that counts as a conversion."""

    RULES: ClassVar[tuple[RecordRule, ...]] = (config_fits_type,)

    id: PartId
    name: Annotated[str, text(255), filled_in(text(255).described("By default the metric's name."))]
    goal_type: Annotated[
        GoalType,
        choice(words(GoalType)),
        filled_in(choice(words(GoalType)).described("Required, unless a metric defines the goal.")),
    ]
    is_primary: Annotated[
        bool, flag.described("Whether this is the primary goal. If no goal is marked, the first one is.")
    ] = False
    config: Annotated[Mapping[str, Any], GOAL_CONFIG] = field(default_factory=dict)
    metric_id: Annotated[
        str | None,
        optional(text(64)).described(
            "Id of a metric of the project, which then defines `goal_type` and `config`. A goal may set "
            "its guardrail margin and `minimum_effect_percent` for itself. Until the experiment "
            "starts, the goal follows the newest version of the metric.",
            example="met_v7xk5qmtd4wr3chn6zp2",
        ),
    ] = None
    metric_version: Annotated[int | None, optional(whole(1, 10**9)), ASSIGNED] = None

    def __post_init__(self) -> None:
        validate(self)

    @cached_property
    def tracking(self) -> dict[str, Any]:
        """The config with its defaults filled in: what the goal really counts."""
        return tracking_of(self.goal_type, self.config)

    def currency(self, usual: str) -> str:
        """Return the ISO 4217 code of the goal's money: its own, or the `usual` one of its project."""
        return str(self.tracking.get("currency", usual))

    @cached_property
    def measure(self) -> Measure:
        """What is measured of each visitor, with all that depends on it."""
        return measure_of(self.goal_type, self.config)

    @property
    def unit(self) -> MetricUnit:
        """The unit of the metric that the goal is judged on."""
        return self.measure.unit

    @property
    def is_guardrail(self) -> bool:
        """Whether the goal may lose no more than a margin, of either kind."""
        margins = ("guardrail_margin_percent", "guardrail_margin_absolute")
        return any(self.config.get(key) is not None for key in margins)

    @cached_property
    def known_after(self) -> int | None:
        """The days from the first exposure after which an outcome is known; None where it is at once."""
        return self.measure.known_after(self.tracking)

    @cached_property
    def summed(self) -> Summed | None:
        """What the goal, or the numerator of a ratio, sums up of its events; None for other goals."""
        return self.measure.summed(self.tracking)

    @property
    def field_of_events(self) -> str | None:
        """The field of events whose values count once each; None for goals that count every event."""
        return self.measure.field_of_events(self.tracking)

    @cached_property
    def divided_by(self) -> Summed | None:
        """What the denominator of a ratio sums up of its events; None for other goals."""
        return self.measure.divided_by(self.tracking)
