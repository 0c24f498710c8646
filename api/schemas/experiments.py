"""Answers about experiments."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from api.schemas.experiment_reviews import Review
from engine.analysis.comparison.significance_level import decision_threshold
from engine.analysis.report.score_labels import describe_score
from engine.analysis.results.rounding import round_percent
from engine.design import experiment
from engine.design.reviewing import state_of
from engine.vocabulary import (
    Alternative,
    AnalysisMethod,
    ChangeAction,
    ConclusionDecision,
    Correction,
    ExperimentType,
    GoalType,
    GuardrailRule,
    HarmAction,
    Prior,
    SequentialMethod,
    Status,
    Trigger,
    UnitWord,
    UrlMatchType,
    UrlRuleType,
)


# The OpenAPI document describes these four by the records of the same names, as bodies have them too.
class UrlRule(BaseModel):
    """A rule that includes or excludes pages."""

    type: UrlRuleType
    match_type: UrlMatchType
    value: str


class StopConditions(BaseModel):
    """Conditions on which a running experiment completes by itself."""

    visitor_limit: int | None
    conversion_limit: int | None
    auto_stop_on_winner: bool


class Statistics(BaseModel):
    """Statistics settings beyond analysis method and confidence level."""

    sequential: SequentialMethod
    planned_sample: int | None
    minimum_effect_percent: float
    correction: Correction
    alternative: Alternative
    guardrails: GuardrailRule
    cuped: bool
    covariates: list[str]
    pre_period_days: int
    prior: Prior
    prior_lift_percent: float
    prior_deviation_percent: float


class AttributeUnit(BaseModel):
    """A unit by the id in an attribute of visitors."""

    attribute: str = Field(description="Key of the attribute, such as `account`.", examples=["account"])


class Change(BaseModel):
    """A change that a variant makes to the page."""

    id: str = Field(examples=["chg_n6d4wrpk3vq7xm2c5tzh"])
    selector: str
    action: ChangeAction
    value: str = Field(
        description="The new text, HTML, style or address, as the action says.", examples=["Order now"]
    )


class Variant(BaseModel):
    """A variant of the experiment."""

    id: str = Field(examples=["var_f3kq7xm2w5c4hn6d2tzp"])
    name: str = Field(examples=["One page"])
    weight: float = Field(
        description="Relative weight: the share of a variant is its weight over the sum. For bandits: now.",
        examples=[50.0],
    )
    is_control: bool
    changes: list[Change]
    payload: Any = Field(
        description="JSON for the code of the site; null for none.", examples=[{"button": "Order now"}]
    )


class Goal(BaseModel):
    """A goal: an action of visitors that counts as a conversion."""

    id: str = Field(examples=["goal_d4wr3chn6zp2v7xk5qmt"])
    name: str = Field(examples=["Order placed"])
    goal_type: GoalType
    is_primary: bool
    config: dict[str, Any] = Field(
        description="Tracking configuration, by goal type.", examples=[{"event_name": "purchase"}]
    )
    metric_id: str | None = Field(
        description="Metric of the project that defines the goal, or null.",
        examples=["met_v7xk5qmtd4wr3chn6zp2"],
    )
    metric_version: int | None = Field(
        description="Version of the metric: the newest until the experiment starts, then fixed.", examples=[1]
    )


class OpenRisk(BaseModel):
    """A risk that was open when a variant was shipped."""

    risk: str = Field(
        description="Name of a health check that alarmed, or id of a broken guardrail.",
        examples=["sample_ratio"],
    )
    message: str = Field(
        description="What was wrong then.",
        examples=["The visitors are split 52.1% to 47.9% instead of 50.0% to 50.0%."],
    )


class Conclusion(BaseModel):
    """What was decided about an experiment."""

    decision: ConclusionDecision = Field(
        description="`ship` a variant, `keep_control`, or `inconclusive`: neither was shown to be better."
    )
    variant_id: str | None = Field(description="The shipped variant; null for the other decisions.")
    note: str = Field(
        description="Why, in the words of who decided.",
        examples=["Fewer steps, more orders on every device."],
    )
    accepted_risks: list[OpenRisk] = Field(description="Risks in spite of which the variant was shipped.")
    decided_at: datetime = Field(description="Time of the decision, in UTC.")
    decided_by: str = Field(
        description="Id of the member; `ramp` where a guarded ramp found harm.",
        examples=["mem_c5hn2qk7vxm3tz6d4wpr"],
    )
    decided_by_name: str = Field(description="Name of the member at that time.", examples=["Mia Lang"])


class Rollout(BaseModel):
    """A shipped variant that everybody eligible gets, and nobody is counted for."""

    id: str = Field(examples=["rol_m2c5tzhn6d4wrpk3vq7x"])
    variant_id: str = Field(description="The shipped variant.")
    started_at: datetime = Field(description="Time of the decision, in UTC.")
    ended_at: datetime | None


class SecondExposure(BaseModel):
    """The event by which visitors reach what is changed."""

    event: str = Field(description="Name of the custom event.", examples=["basket_seen"])


class RampStep(BaseModel):
    """A step of a ramp."""

    percent: int = Field(description="Percent of eligible visitors who take part.", examples=[5])
    hours: float | None = Field(
        description="Hours without pauses that it lasts at least; null for no end.", examples=[24]
    )


class Ramp(BaseModel):
    """Steps of growing traffic, and what is done where a variant harms a goal."""

    steps: list[RampStep] = Field(description="At least one; the percents grow.")
    on_harm: HarmAction = Field(
        description="What is done where a variant harms a goal.", examples=["rollback"]
    )


class GroupShare(BaseModel):
    """The exclusion group of an experiment, and its part of it."""

    id: str = Field(description="Id of the group.", examples=["grp_q7xm2c5tzhn6d4wrpk3v"])
    percent: int = Field(description="Percent of the group's visitors.", examples=[30])


class TakenStep(BaseModel):
    """A step of a ramp that was taken."""

    percent: int = Field(description="Percent of eligible visitors who take part.", examples=[5])
    started_at: datetime = Field(description="Time of the step, in UTC.")


class Harm(BaseModel):
    """Harm that a ramp has found, by what holds at every look, or alarms of health checks."""

    found_at: datetime = Field(description="Time at which it was found, in UTC.")
    findings: list[str] = Field(
        description="Ids of harmed goals, and names of health checks that alarm.",
        examples=[["goal_d4wr3chn6zp2v7xk5qmt"]],
    )
    variant_ids: list[str] = Field(
        description="Variants that harm a goal.", examples=[["var_f3kq7xm2w5c4hn6d2tzp"]]
    )
    action: HarmAction = Field(description="What was done.", examples=["rollback"])
    message: str = Field(
        description="What was found, in sentences.",
        examples=["'One page' harms 'Order placed', the primary goal, by what holds at every look."],
    )


class Experiment(BaseModel):
    """An experiment as listed."""

    id: str
    name: str
    test_key: str
    type: ExperimentType = Field(
        description="`visual` changes, `redirect`, or `personalization` for all who are eligible."
    )
    status: Status
    owner: str | None = Field(
        description="Id of the member who answers for it: the first who is assigned.",
        examples=["mem_c5hn2qk7vxm3tz6d4wpr"],
    )
    tags: list[str] = Field(
        description="Words to find it by, such as a team or a page.", examples=[["checkout"]]
    )
    url: str
    url_match_type: UrlMatchType
    url_rules: list[UrlRule]
    traffic_allocation: int = Field(description="Percent of eligible visitors who take part.", examples=[100])
    public_variants: bool = Field(
        description="Whether anybody can read the variants' names and payloads in the site's script."
    )
    unit: UnitWord | AttributeUnit = Field(
        description="What is assigned and compared: `visitor`, `user`, or the id in an attribute."
    )
    trigger: Trigger = Field(
        description="When a visitor on the page is exposed: at once, or after an action."
    )
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
    conclusion: Conclusion | None = Field(description="What was decided; null before.")
    rollout: Rollout | None = Field(description="What follows from a decision to ship; null for none.")
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
    """An experiment with its variants, goals and targeting rules."""

    group: GroupShare | None = Field(
        description="Exclusion group, and the percent of its visitors to take; null for none."
    )
    exposure: SecondExposure | None = Field(
        description="Event of the visitors who reach what is changed, for a second look; null for none."
    )
    ramp: Ramp | None = Field(description="Steps by which the traffic grows; null for all of it at once.")
    ramp_steps: list[TakenStep] = Field(description="Steps that were taken, the present one last.")
    ramp_harm: list[Harm] = Field(description="Harm that the ramp has found, and what it did.")
    reviews: list[Review] = Field(description="Reviews that were asked for, the last one last.")
    statistics: Statistics
    targeting_rules: dict[str, Any] = Field(
        description="`{version: 2, root: group}`.",
        examples=[
            {
                "version": 2,
                "root": {
                    "operator": "and",
                    "children": [{"field": "country", "operator": "in", "values": ["AT"]}],
                },
            }
        ],
    )
    variants: list[Variant]
    goals: list[Goal]
    assigned_user_ids: list[str] = Field(
        description="Ids of accepted account members.", examples=[["mem_c5hn2qk7vxm3tz6d4wpr"]]
    )

    @classmethod
    def of(cls, found: experiment.Experiment) -> "ExperimentDetail":
        """Describe an experiment with its variants, goals and targeting."""
        return cls(**described(found))


class CompletedExperiment(ExperimentDetail):
    """A completed experiment, with what its end has lost."""

    open_visitors: int = Field(
        description="Visitors with an outcome that was still to come, as days or a window were not over.",
        examples=[0],
    )


def described(found: experiment.Experiment) -> dict[str, Any]:
    """Return the fields of an experiment, with its owner, and the label and threshold of its score."""
    reviews = [{**asdict(one), "state": state_of(found, one)} for one in found.reviews]
    return {**asdict(found), "reviews": reviews, "owner": found.owner, **score_of(found)}


def score_of(found: experiment.Experiment) -> dict[str, Any]:
    """Return the label, the description and the threshold of an experiment's score."""
    label, description = describe_score(found.analysis_method, found.statistics.alternative)
    return {
        "score_label": label,
        "score_description": description,
        "effective_confidence_threshold": round_percent(decision_threshold(found)),
    }
