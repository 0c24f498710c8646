"""Experiment, with its variants, goals and stop conditions: records that are valid or are not built."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ClassVar

from engine.design.analysis_settings import Statistics
from engine.design.conclusion import Conclusion, Rollout
from engine.design.exclusion.group_slots import GroupShare, GroupSlots
from engine.design.goal import Goal
from engine.design.invariants import (
    EXPERIMENT_RULES,
    distinct,
    exactly_one,
    pattern_fits,
    weights_split_traffic,
)
from engine.design.pauses import Pause, one_after_another
from engine.design.ramp import Harm, Ramp, TakenStep, taken_in_order
from engine.design.review import MOST_REVIEWS, Review
from engine.design.second_exposure import SecondExposure
from engine.design.targeting.rules import EVERYONE, targeting_rules
from engine.design.units import UNIT, VISITOR, Unit
from engine.design.variants import Name, Selector, Variant
from engine.design.weight_epochs import WeightEpoch, in_order
from engine.validation.record_fields import ASSIGNED, INTERNAL, filled_in
from engine.validation.records import RecordRule, record_of, records_of, validate
from engine.validation.values import URL_LENGTH, choice, flag, list_of, moment, optional, slug, text, whole
from engine.vocabulary import (
    AnalysisMethod,
    ExperimentType,
    Status,
    TrafficStrategy,
    Trigger,
    UrlMatchType,
    UrlRuleType,
    words,
)

LONGEST_SENT_KEY = 100
"""Characters of a test key that a caller sends; below the limit of 120 so that a number may be appended."""
Code = optional(text(64 * 1024, least=0, lines=True))
Targeting = Annotated[Mapping[str, Any], targeting_rules]
Moment = optional(moment)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopConditions:
    """Conditions on which a running experiment completes by itself."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    visitor_limit: Annotated[
        int | None,
        optional(whole(1, 10**12)).described("Number of visitors at which it completes.", example=50000),
    ] = None
    conversion_limit: Annotated[
        int | None,
        optional(whole(1, 10**12)).described(
            "Conversions of the primary goal at which it completes.", example=2000
        ),
    ] = None
    auto_stop_on_winner: Annotated[
        bool,
        flag.described(
            "Complete the experiment when a variant wins by what holds at every look; "
            "it is paused first while outcomes are open."
        ),
    ] = False

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlRule:
    """A rule that includes or excludes pages; an exclude rule wins."""

    RULES: ClassVar[tuple[RecordRule, ...]] = (pattern_fits("match_type", "value"),)

    type: Annotated[UrlRuleType, choice(words(UrlRuleType))]
    match_type: Annotated[UrlMatchType, choice(words(UrlMatchType))]
    value: Annotated[
        str, text(URL_LENGTH).described("URL, path or pattern, as match_type says.", example="/checkout*")
    ]

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment with its variants, goals and targeting: saved, assigned and analyzed as this one value.

    Variants stand in order of creation, which assignment follows. Times are aware, in UTC.
    `salt` seeds assignment (the id, unless imported) and never changes. `weight_epochs` are the weights over
    time since the start; empty while the weights have never changed. `pauses` are those since the start, the
    last one open while the experiment is paused. One that `is_holdout` is no test (`engine.design.holdout`);
    `held_group_id` is then the exclusion group that it holds visitors out of, None for the whole project.
    """

    RULES: ClassVar[tuple[RecordRule, ...]] = EXPERIMENT_RULES

    id: Annotated[str, text(64), ASSIGNED]
    project_id: Annotated[str, text(64), ASSIGNED]
    name: Name
    test_key: Annotated[
        str,
        slug(120),
        filled_in(
            optional(slug(LONGEST_SENT_KEY)).described(
                "Unique in the project; by default a slug of the name."
            )
        ),
    ]
    salt: Annotated[str, text(255), INTERNAL]
    type: Annotated[ExperimentType, choice(words(ExperimentType))] = "visual"
    url: Annotated[
        str,
        text(URL_LENGTH),
        filled_in(
            text(URL_LENGTH).described(
                "URL, path or pattern of the page, as url_match_type says. By default the project's URL.",
                example="/checkout",
            )
        ),
    ]
    created_at: Annotated[datetime, moment, ASSIGNED]
    updated_at: Annotated[datetime, moment, ASSIGNED]
    status: Annotated[Status, choice(words(Status)), ASSIGNED] = "draft"
    url_match_type: Annotated[
        UrlMatchType,
        choice(words(UrlMatchType)).described(
            "`exact` ignores the fragment, a trailing slash, and query parameters that url does not name."
        ),
    ] = "exact"
    url_rules: Annotated[
        tuple[UrlRule, ...],
        records_of(UrlRule, at_most=100, name="URL rule").described("Further pages to include or exclude."),
    ] = ()
    traffic_allocation: Annotated[
        int, whole(0, 100).described("Percent of eligible visitors who take part.", example=100)
    ] = 100
    ramp: Annotated[
        Ramp | None,
        optional(record_of(Ramp, "the ramp")).described(
            "Steps by which traffic_allocation grows from the start on."
        ),
    ] = None
    group: Annotated[
        GroupShare | None,
        optional(record_of(GroupShare, "the group")).described(
            "Exclusion group, of whose visitors it takes so many at its start; set in a draft only."
        ),
    ] = None
    exposure: Annotated[
        SecondExposure | None,
        optional(record_of(SecondExposure, "the exposure")).described(
            "Event that counts visitors in a second look."
        ),
    ] = None
    public_variants: Annotated[
        bool,
        flag.described("Whether anybody can read the variants' names and payloads in the site's script."),
    ] = False
    traffic_strategy: Annotated[
        TrafficStrategy,
        choice(words(TrafficStrategy)).described(
            "`fixed` keeps the weights; `bandit` moves them to better variants (Thompson sampling)."
        ),
    ] = "fixed"
    unit: Annotated[
        Unit,
        UNIT.described(
            "What is assigned and compared: a `visitor`, a `user`, or what an attribute names, as an account."
        ),
    ] = VISITOR
    trigger: Annotated[Trigger, choice(words(Trigger))] = "direct"
    trigger_selector: Annotated[
        str | None,
        optional(Selector).described("CSS selector. Required for the triggers element_visible and click."),
    ] = None
    custom_css: Annotated[
        str | None, Code.described("CSS for the pages of every variant but the control.")
    ] = None
    custom_js: Annotated[
        str | None, Code.described("JavaScript that runs in every variant but the control.")
    ] = None
    relay_params: Annotated[
        bool, flag.described("Whether a redirect keeps the query parameters of the page.")
    ] = False
    hypothesis: Annotated[str | None, optional(text(5000, least=0, lines=True))] = None
    scheduled_start_at: Annotated[
        datetime | None,
        Moment.described("With a time in the future, `start` schedules the draft to start then."),
    ] = None
    scheduled_end_at: Annotated[
        datetime | None, Moment.described("When the experiment completes by itself.")
    ] = None
    stop_conditions: Annotated[StopConditions, record_of(StopConditions, "the stop conditions")] = (
        StopConditions()
    )
    confidence_level: Annotated[int, whole(50, 99).described("Confidence level, in percent.")] = 95
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
    assigned_user_ids: Annotated[
        tuple[str, ...],
        list_of(text(64), at_most=200).described(
            "Ids of accepted account members.", example=["mem_c5hn2qk7vxm3tz6d4wpr"]
        ),
    ] = ()
    tags: Annotated[
        tuple[str, ...],
        list_of(text(50), at_most=20).described(
            "Words to find it by, such as a team or a page.", example=["checkout"]
        ),
    ] = ()
    bucketing_version: Annotated[int, whole(1, 10**6), INTERNAL] = 1
    is_holdout: Annotated[bool, flag, INTERNAL] = False
    held_group_id: Annotated[str | None, optional(text(64)), INTERNAL] = None
    started_at: Annotated[datetime | None, Moment, ASSIGNED] = None
    completed_at: Annotated[datetime | None, Moment, ASSIGNED] = None
    conclusion: Annotated[Conclusion | None, optional(record_of(Conclusion, "the conclusion")), ASSIGNED] = (
        None
    )
    rollout: Annotated[Rollout | None, optional(record_of(Rollout, "the rollout")), ASSIGNED] = None
    ramp_steps: Annotated[
        tuple[TakenStep, ...],
        records_of(TakenStep, taken_in_order, at_most=20, name="taken step"),
        ASSIGNED,
    ] = ()
    ramp_harm: Annotated[tuple[Harm, ...], records_of(Harm, at_most=200, name="harm"), ASSIGNED] = ()
    group_slots: Annotated[GroupSlots | None, optional(record_of(GroupSlots, "the slots")), INTERNAL] = None
    reviews: Annotated[
        tuple[Review, ...], records_of(Review, at_most=MOST_REVIEWS, name="review"), ASSIGNED
    ] = ()
    weight_epochs: Annotated[
        tuple[WeightEpoch, ...],
        records_of(WeightEpoch, in_order, at_most=10_000, name="weight epoch"),
        INTERNAL,
    ] = ()
    pauses: Annotated[
        tuple[Pause, ...], records_of(Pause, one_after_another, at_most=10_000, name="pause"), INTERNAL
    ] = ()

    def __post_init__(self) -> None:
        validate(self)

    @property
    def control(self) -> Variant | None:
        """The variant that the others are compared with; None while there is none."""
        return next((variant for variant in self.variants if variant.is_control), None)

    @property
    def owner(self) -> str | None:
        """The id of the member who answers for it: the first who is assigned; None without any."""
        return next(iter(self.assigned_user_ids), None)

    @property
    def shipped(self) -> Variant | None:
        """The variant that everybody eligible gets; None without a rollout, and once it has ended."""
        rollout = self.rollout
        if rollout is None or rollout.ended_at is not None:
            return None
        return next((variant for variant in self.variants if variant.id == rollout.variant_id), None)

    @property
    def has_payloads(self) -> bool:
        """Whether a variant has a payload; another one's is then left to the code of the site."""
        return any(variant.payload is not None for variant in self.variants)

    @property
    def primary_goal(self) -> Goal | None:
        """The goal that the recommendation is based on; None while there is none."""
        return next((goal for goal in self.goals if goal.is_primary), None)
