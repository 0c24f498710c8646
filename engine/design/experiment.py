"""What an experiment is: a value that is valid, or is not built."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

ExperimentType = Literal["redirect", "visual", "personalization"]
Status = Literal["draft", "scheduled", "running", "paused", "completed", "archived"]
UrlMatchType = Literal["exact", "starts_with", "ends_with", "contains", "wildcard", "regex"]
Trigger = Literal["direct", "manual", "element_visible", "click", "url_change", "callback"]
TrafficStrategy = Literal["fixed", "bandit"]
AnalysisMethod = Literal["frequentist", "bayesian"]
GoalType = Literal["pageview", "click", "custom_event", "revenue", "ga4_event"]
ChangeAction = Literal[
    "modify_text",
    "modify_html",
    "modify_attribute",
    "modify_style",
    "modify_class",
    "remove",
    "insert_before",
    "insert_after",
    "insert_inside",
    "replace",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One edit that a variant makes to the page."""

    id: str
    selector: str
    action: ChangeAction
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One arm. `weight` is relative: shares are weights over their sum."""

    id: str
    name: str
    weight: float = 1.0
    is_control: bool = False
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What counts as success; `config` is the tracking contract of its type."""

    id: str
    name: str
    goal_type: GoalType
    is_primary: bool = False
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopConditions:
    """When a running experiment completes by itself."""

    visitor_limit: int | None = None
    conversion_limit: int | None = None
    auto_stop_on_winner: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlRule:
    """A page the experiment includes or excludes; an exclude wins."""

    type: Literal["include", "exclude"]
    match_type: UrlMatchType
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment, whole: saved, assigned and analysed as this one value.

    Variants stand in order of creation, which is what assignment walks. Times are aware, in UTC.
    `salt` seeds assignment (the id, unless imported) and never changes.
    """

    id: str
    project_id: str
    name: str
    test_key: str
    salt: str
    url: str
    created_at: datetime
    updated_at: datetime
    type: ExperimentType = "visual"
    status: Status = "draft"
    url_match_type: UrlMatchType = "exact"
    url_rules: tuple[UrlRule, ...] = ()
    traffic_allocation: int = 100
    traffic_strategy: TrafficStrategy = "fixed"
    trigger: Trigger = "direct"
    trigger_selector: str | None = None
    custom_css: str | None = None
    custom_js: str | None = None
    relay_params: bool = False
    hypothesis: str | None = None
    scheduled_start_at: datetime | None = None
    scheduled_end_at: datetime | None = None
    stop_conditions: StopConditions = StopConditions()
    confidence_level: int = 95
    analysis_method: AnalysisMethod = "frequentist"
    targeting_rules: Mapping[str, Any] = field(
        default_factory=lambda: {"version": 2, "root": {"operator": "and", "children": []}}
    )
    variants: tuple[Variant, ...] = ()
    goals: tuple[Goal, ...] = ()
    assigned_user_ids: tuple[str, ...] = ()
    bucketing_version: int = 1
    started_at: datetime | None = None
    completed_at: datetime | None = None

    @property
    def control(self) -> Variant | None:
        """The variant the others are compared with; None while there is none."""
        return next((variant for variant in self.variants if variant.is_control), None)

    @property
    def primary_goal(self) -> Goal | None:
        """The goal the decision rests on; None while there is none."""
        return next((goal for goal in self.goals if goal.is_primary), None)
