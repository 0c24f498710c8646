"""An experiment as a caller sends it; described here, judged by the engine."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.schemas.experiments import Statistics, StopConditions, UrlRule
from engine.design.vocabulary import (
    AnalysisMethod,
    ChangeAction,
    ExperimentType,
    GoalType,
    TrafficStrategy,
    Trigger,
    UrlMatchType,
)

ID = "Sent on the update of a paused experiment, so that history is kept; assigned on creation."


class Condition(BaseModel):
    """One comparison of an attribute of the visitor."""

    model_config = ConfigDict(extra="forbid")
    field: str
    operator: str
    values: list[str] = []
    key: str | None = Field(None, description="Which cookie, query parameter or custom dimension.")


class Group(BaseModel):
    """Conditions and groups, joined."""

    model_config = ConfigDict(extra="forbid")
    operator: Literal["and", "or", "not"]
    children: list["Group | Condition"]


class TargetingRules(BaseModel):
    """Who may take part."""

    model_config = ConfigDict(extra="forbid")
    version: Literal[2]
    root: Group


class ChangeInput(BaseModel):
    """One edit that a variant makes to the page."""

    model_config = ConfigDict(extra="forbid")
    id: str | None = Field(None, description=ID)
    selector: str
    action: ChangeAction
    value: str = ""


class VariantInput(BaseModel):
    """One arm."""

    model_config = ConfigDict(extra="forbid")
    id: str | None = Field(None, description=ID)
    name: str
    is_control: bool = Field(default=False, description="If none is marked, the first is the control.")
    weight: float = Field(1, ge=0, description="Relative: shares are weights over their sum.")
    changes: list[ChangeInput] = []


class GoalInput(BaseModel):
    """What counts as success."""

    model_config = ConfigDict(extra="forbid")
    id: str | None = Field(None, description=ID)
    name: str
    goal_type: GoalType
    is_primary: bool = Field(default=False, description="If none is marked, the first is the primary goal.")
    config: dict[str, Any] = Field(
        default={},
        description="By goal type: pageview `{url, match_type?}`; click `{selector, url?}`; custom_event "
        "`{event_name}`; revenue `{event_name?, currency?, min_cents?, max_cents?, cap_percentile?, per?}`; "
        "ga4_event `{event_name, value_param?}`. All take `direction`, `increase` or `decrease`, and all but "
        "the primary `guardrail_margin_percent`: how much worse, in percent of the control, is acceptable.",
    )


class ExperimentInput(BaseModel):
    """The whole draft: variants, goals and targeting in one request."""

    model_config = ConfigDict(extra="forbid")
    name: str
    test_key: str | None = Field(None, description="Unique in the project; the slug of the name by default.")
    type: ExperimentType = "visual"
    hypothesis: str | None = None
    url: str | None = Field(None, description="The project's url by default.")
    url_match_type: UrlMatchType = "exact"
    url_rules: list[UrlRule] = []
    traffic_allocation: int = Field(100, ge=0, le=100, description="Percent of eligible visitors.")
    traffic_strategy: TrafficStrategy = "fixed"
    trigger: Trigger = "direct"
    trigger_selector: str | None = Field(None, description="Required for element_visible and click.")
    custom_css: str | None = None
    custom_js: str | None = None
    relay_params: bool = False
    scheduled_start_at: datetime | None = None
    scheduled_end_at: datetime | None = None
    stop_conditions: StopConditions = StopConditions()
    confidence_level: int = Field(95, ge=50, le=99)
    analysis_method: AnalysisMethod = "frequentist"
    statistics: Statistics = Statistics()
    targeting_rules: TargetingRules = TargetingRules(version=2, root=Group(operator="and", children=[]))
    variants: list[VariantInput] = Field(default=[], max_length=20)
    goals: list[GoalInput] = Field(default=[], max_length=50)
    assigned_user_ids: list[str] = Field(default=[], description="Ids of accepted account members.")
