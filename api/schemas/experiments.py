"""An experiment on the wire."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from api.schemas.percents import percent
from engine.analysis.comparison.significance_level import decision_threshold
from engine.analysis.report.score_labels import describe_score
from engine.design import experiment
from engine.design.vocabulary import (
    AnalysisMethod,
    ChangeAction,
    Correction,
    ExperimentType,
    GoalType,
    Prior,
    SequentialMethod,
    Status,
    Trigger,
    UrlMatchType,
    UrlRuleType,
)


class UrlRule(BaseModel):
    """A page that the experiment includes or excludes; an exclude wins."""

    type: UrlRuleType
    match_type: UrlMatchType
    value: str


class StopConditions(BaseModel):
    """When a running experiment completes by itself."""

    visitor_limit: int | None = None
    conversion_limit: int | None = Field(None, description="Conversions of the primary goal.")
    auto_stop_on_winner: bool = False


class Statistics(BaseModel):
    """How results are judged beyond method and level; fixed once visitors are counted."""

    sequential: SequentialMethod = Field(
        "none",
        description="`always_valid` judges by intervals that hold however often one looks, "
        "`group_sequential` by those that hold up to the planned sample, where the experiment ends.",
    )
    planned_sample: int | None = Field(
        None, ge=100, description="Visitors of all variants together that the test is planned for."
    )
    correction: Correction = Field(
        "bonferroni",
        description="For several variants. With `holm` or `dunnett` p values are adjusted, and held against "
        "the confidence level itself.",
    )
    cuped: bool = Field(
        False,
        description="Takes away what visitors did before their first exposure: the same answer from fewer "
        "visitors, with the unadjusted one beside it.",
    )
    pre_period_days: int = Field(
        14, ge=1, le=365, description="How long before counts, for `cuped` and `prior`."
    )
    prior: Prior = Field(
        "flat",
        description="For Bayesian experiments: `pre_period` expects conversion rates like those before, "
        "`lift` a normal relative change as given here.",
    )
    prior_lift_percent: float = Field(0, ge=-50, le=100)
    prior_deviation_percent: float = Field(10, ge=0.1, le=1000)


class Change(BaseModel):
    """One edit that a variant makes to the page."""

    id: str
    selector: str
    action: ChangeAction
    value: str


class Variant(BaseModel):
    """One arm."""

    id: str
    name: str
    weight: float = Field(
        description="Relative: shares are weights over their sum. Of a bandit, those that assign now."
    )
    is_control: bool
    changes: list[Change]


class Goal(BaseModel):
    """What counts as success."""

    id: str
    name: str
    goal_type: GoalType
    is_primary: bool
    config: dict[str, Any] = Field(description="What is tracked, by goal type.")


class Experiment(BaseModel):
    """An experiment as listed."""

    id: str
    name: str
    test_key: str
    type: ExperimentType
    status: Status
    url: str
    url_match_type: UrlMatchType
    url_rules: list[UrlRule]
    traffic_allocation: int = Field(description="Percent of eligible visitors.")
    trigger: Trigger
    trigger_selector: str | None
    custom_css: str | None
    custom_js: str | None
    relay_params: bool
    hypothesis: str | None
    scheduled_start_at: datetime | None
    scheduled_end_at: datetime | None
    stop_conditions: StopConditions
    confidence_level: int
    analysis_method: AnalysisMethod
    score_label: str
    score_description: str
    effective_confidence_threshold: float = Field(
        description="Percent that score_value must reach: the confidence level, adjusted for the variants."
    )
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, found: experiment.Experiment) -> "Experiment":
        """Describe an experiment."""
        return cls(**described(found))


class ExperimentDetail(Experiment):
    """An experiment, whole."""

    statistics: Statistics
    targeting_rules: dict[str, Any] = Field(description="`{version: 2, root: group}`.")
    variants: list[Variant]
    goals: list[Goal]
    assigned_user_ids: list[str] = Field(description="Ids of account members.")

    @classmethod
    def of(cls, found: experiment.Experiment) -> "ExperimentDetail":
        """Describe an experiment with its variants, goals and targeting."""
        return cls(**described(found))


def described(found: experiment.Experiment) -> dict[str, Any]:
    """An experiment's fields, and what its score is called and must reach."""
    label, description = describe_score(found.analysis_method)
    threshold = decision_threshold(found)
    return {
        **asdict(found),
        "score_label": label,
        "score_description": description,
        "effective_confidence_threshold": percent(threshold),
    }
