"""What an experiment is: a value that is valid, or is not built."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ClassVar

from engine.design.analysis_settings import Statistics
from engine.design.goals import config_fits_type, tracking_of
from engine.design.invariants import (
    EXPERIMENT_RULES,
    distinct,
    exactly_one,
    pattern_fits,
    weights_split_traffic,
)
from engine.design.targeting.rules import EVERYONE, targeting_rules
from engine.design.validation.records import (
    RecordRule,
    record_of,
    records_of,
    validate,
)
from engine.design.validation.values import (
    URL_LENGTH,
    choice,
    flag,
    list_of,
    moment,
    number,
    optional,
    slug,
    text,
    whole,
)
from engine.design.vocabulary import (
    AnalysisMethod,
    ChangeAction,
    ExperimentType,
    GoalType,
    Status,
    TrafficStrategy,
    Trigger,
    UrlMatchType,
    UrlRuleType,
    words,
)
from engine.design.weight_epochs import HEAVIEST, WeightEpoch, in_order

Id = Annotated[str, text(64)]
Name = Annotated[str, text(255)]
Selector = Annotated[str, text(1024)]
Code = Annotated[str | None, optional(text(64 * 1024, least=0, lines=True))]
Moment = Annotated[datetime | None, optional(moment)]
Flag = Annotated[bool, flag]
Targeting = Annotated[Mapping[str, Any], targeting_rules]
VisitorLimit = Annotated[int | None, optional(whole(1, 10**12))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One edit that a variant makes to the page."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    id: Id
    selector: Selector
    action: Annotated[ChangeAction, choice(words(ChangeAction))]
    value: Annotated[str, text(64 * 1024, least=0, lines=True)] = ""

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One arm. `weight` is relative: shares are weights over their sum."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    id: Id
    name: Name
    weight: Annotated[float, number(0, HEAVIEST)] = 1.0
    is_control: Flag = False
    changes: Annotated[
        tuple[Change, ...], records_of(Change, distinct("id"), at_most=500, name="change")
    ] = ()

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What counts as success; `config` is the tracking contract of its type."""

    RULES: ClassVar[tuple[RecordRule, ...]] = (config_fits_type,)

    id: Id
    name: Name
    goal_type: Annotated[GoalType, choice(words(GoalType))]
    is_primary: Flag = False
    config: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        validate(self)

    @property
    def tracking(self) -> dict[str, Any]:
        """The config with its defaults filled in: what the goal really counts."""
        return tracking_of(self.goal_type, self.config)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopConditions:
    """When a running experiment completes by itself."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    visitor_limit: VisitorLimit = None
    conversion_limit: VisitorLimit = None
    auto_stop_on_winner: Flag = False

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlRule:
    """A page the experiment includes or excludes; an exclude wins."""

    RULES: ClassVar[tuple[RecordRule, ...]] = (pattern_fits("match_type", "value"),)

    type: Annotated[UrlRuleType, choice(words(UrlRuleType))]
    match_type: Annotated[UrlMatchType, choice(words(UrlMatchType))]
    value: Annotated[str, text(URL_LENGTH)]

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment, whole: saved, assigned and analysed as this one value.

    Variants stand in order of creation, which is what assignment walks. Times are aware, in UTC.
    `salt` seeds assignment (the id, unless imported) and never changes. `weight_epochs` are those since
    the start, once weights have changed; until then the variants' weights are all there were.
    """

    RULES: ClassVar[tuple[RecordRule, ...]] = EXPERIMENT_RULES

    id: Id
    project_id: Id
    name: Name
    test_key: Annotated[str, slug(120)]
    salt: Annotated[str, text(255)]
    url: Annotated[str, text(URL_LENGTH)]
    created_at: Annotated[datetime, moment]
    updated_at: Annotated[datetime, moment]
    type: Annotated[ExperimentType, choice(words(ExperimentType))] = "visual"
    status: Annotated[Status, choice(words(Status))] = "draft"
    url_match_type: Annotated[UrlMatchType, choice(words(UrlMatchType))] = "exact"
    url_rules: Annotated[tuple[UrlRule, ...], records_of(UrlRule, at_most=100, name="URL rule")] = ()
    traffic_allocation: Annotated[int, whole(0, 100)] = 100
    traffic_strategy: Annotated[TrafficStrategy, choice(words(TrafficStrategy))] = "fixed"
    trigger: Annotated[Trigger, choice(words(Trigger))] = "direct"
    trigger_selector: Annotated[str | None, optional(text(1024))] = None
    custom_css: Code = None
    custom_js: Code = None
    relay_params: Flag = False
    hypothesis: Annotated[str | None, optional(text(5000, least=0, lines=True))] = None
    scheduled_start_at: Moment = None
    scheduled_end_at: Moment = None
    stop_conditions: Annotated[StopConditions, record_of(StopConditions, "the stop conditions")] = (
        StopConditions()
    )
    confidence_level: Annotated[int, whole(50, 99)] = 95
    analysis_method: Annotated[AnalysisMethod, choice(words(AnalysisMethod))] = "frequentist"
    statistics: Annotated[Statistics, record_of(Statistics, "the statistics")] = field(
        default_factory=Statistics
    )
    targeting_rules: Targeting = field(default_factory=lambda: EVERYONE)
    variants: Annotated[
        tuple[Variant, ...],
        records_of(
            Variant,
            distinct("id"),
            distinct("name"),
            exactly_one("is_control", "control", from_count=2),
            weights_split_traffic,
            at_most=20,
            name="variant",
        ),
    ] = ()
    goals: Annotated[
        tuple[Goal, ...],
        records_of(
            Goal,
            distinct("id"),
            exactly_one("is_primary", "primary goal", from_count=1),
            at_most=50,
            name="goal",
        ),
    ] = ()
    assigned_user_ids: Annotated[tuple[str, ...], list_of(text(64), at_most=200)] = ()
    bucketing_version: Annotated[int, whole(1, 10**6)] = 1
    started_at: Moment = None
    completed_at: Moment = None
    weight_epochs: Annotated[
        tuple[WeightEpoch, ...], records_of(WeightEpoch, in_order, at_most=10_000, name="weight epoch")
    ] = ()

    def __post_init__(self) -> None:
        validate(self)

    @property
    def control(self) -> Variant | None:
        """The variant the others are compared with; None while there is none."""
        return next((variant for variant in self.variants if variant.is_control), None)

    @property
    def primary_goal(self) -> Goal | None:
        """The goal the decision rests on; None while there is none."""
        return next((goal for goal in self.goals if goal.is_primary), None)
