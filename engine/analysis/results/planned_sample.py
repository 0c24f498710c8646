"""Plan of an experiment in its report: the visitors to judge by, and the progress towards them.

As in the report: shares, and descriptions of the API's answers, which have percents in their place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from engine.analysis.evidence.recorded_looks import PlanSource
from engine.analysis.results.answer_fields import NOT_ANSWERED, AnswerField, described


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """The sample plan by which an experiment is judged, for all of its goals."""

    source: Annotated[
        PlanSource,
        described(
            "`given` as `statistics.planned_sample`; `blinded`: computed from all variants together, "
            "until it is reached; `last_day`: reached on running day 56; `finished`: the data were complete."
        ),
    ]
    required_visitors: Annotated[
        int | None,
        described(
            "Known outcomes, or units, to judge by, all variants together; null where no number is enough.",
            example=20000,
        ),
    ]
    # At so many visitors the intervals that are valid at every look are tightest; None where only the
    # answers of a service are known.
    tuned_to: Annotated[float | None, NOT_ANSWERED] = None
    collected_visitors: Annotated[int, described("Visitors so far, all variants together.", example=24720)]
    observed_visitors: Annotated[
        int | None,
        described(
            "Those whose outcome of the primary goal is known, which the plan counts; null where all are.",
            example=24310,
        ),
    ]
    open_visitors: Annotated[
        int,
        described(
            "Those with an outcome of some goal still to come, which ends with the experiment.", example=0
        ),
    ]
    outcomes_since: Annotated[
        datetime | None,
        described("Time from which looks count known outcomes and not visitors; null where they always did."),
    ]
    progress: Annotated[
        float | None,
        AnswerField(
            "percent", "Percent of the required visitors, at most 100.", "progress_percent", example=100.0
        ),
    ]
    clusters: Annotated[
        int | None,
        AnswerField(
            None,
            "Units with a known outcome, such as accounts, which the plan counts where the experiment's "
            "`unit` is not the visitor; else null.",
            "units",
            example=1840,
        ),
    ] = None
    intra_class_correlation: Annotated[
        float | None,
        described(
            "Measured correlation of the primary goal within units, at least 0; null where visitors are "
            "compared, or each unit is one.",
            example=0.03,
        ),
    ] = None
    design_effect: Annotated[
        float | None,
        described(
            "Measured: so many times the variance is that of visitors one by one; null likewise.", example=1.4
        ),
    ] = None
    noun: Annotated[str, NOT_ANSWERED] = "visitor"
    is_reached: bool
    reached_at: Annotated[
        datetime | None,
        described("Time of the one look at the plan, whose verdict stays; null before it is recorded."),
    ]
    running_days: Annotated[
        float | None, AnswerField("days", "Days since the start, without pauses.", example=21.5)
    ]
    days_left: Annotated[
        int | None,
        described("Days until the plan is reached at the pace so far; null without a pace.", example=0),
    ]
    minimum_effect: Annotated[
        float,
        AnswerField(
            "percent",
            "Smallest relevant lift of the primary goal, in percent of the control.",
            "minimum_effect_percent",
            example=10.0,
        ),
    ]
    detectable_effect: Annotated[
        float | None,
        AnswerField(
            "percent",
            "Lift of the primary goal that the plan detects with 80% power.",
            "detectable_effect_percent",
            example=9.6,
        ),
    ]
    detectable_harm: Annotated[
        Mapping[str, float],
        AnswerField(
            "percent",
            "By the id of a guardrail: the loss beyond its margin that the plan detects.",
            "detectable_harm_percent",
            example={"goal_d4wr3chn6zp2v7xk5qmt": 2.5},
        ),
    ]
    guardrail_power: Annotated[
        Mapping[str, float],
        AnswerField(
            "percent",
            "By the id of a guardrail that must be shown non-inferior: the power of the plan to show it "
            "where there is no harm.",
            "guardrail_power_percent",
            example={"goal_d4wr3chn6zp2v7xk5qmt": 91.0},
        ),
    ] = field(default_factory=dict)

    @property
    def counted(self) -> int:
        """What the plan counts so far: visitors, those whose outcome is known, or clusters."""
        if self.clusters is not None:
            return self.clusters
        return self.collected_visitors if self.observed_visitors is None else self.observed_visitors

    @property
    def unit(self) -> str:
        """What the plan counts, in words."""
        if self.clusters is not None:
            return f"{self.noun}s"
        return "visitors" if self.observed_visitors is None else "known outcomes"
