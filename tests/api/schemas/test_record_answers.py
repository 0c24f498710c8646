"""Records in answers: rounded, on the decided side of the threshold, described by their fields."""

import math
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from api.schemas.record_answers import COMPONENT_NAMES, Answer, Scale, answer, percent
from engine.analysis.analyze import analyze
from engine.analysis.results import report as report_records
from engine.analysis.results.answer_fields import NOT_ANSWERED, PROGRESS, AnswerField, described
from engine.analysis.results.report import Report
from engine.analysis.results.variant_result import Interval
from engine.design.analysis_settings import Statistics
from tests.builders import NOW, an_experiment
from tests.observations import observed

# p = 0.0500058 by statsmodels' proportions_ztest, a score of 94.9994; one conversion more has p = 0.0475.
MISSED, REACHED = 1135, 1136


def report(conversions: int, method: str = "frequentist", **statistics: str) -> Report:
    experiment = an_experiment(analysis_method=method, statistics=Statistics(**statistics))  # type: ignore[arg-type]
    return analyze(experiment, observed([20_000, 20_000], [1046, conversions]), now=NOW)


def served(found: Report) -> dict[str, Any]:
    goal = found.goals[0]
    scale = Scale(goal.goal.unit, goal.summary.effective_confidence_threshold)
    fields: dict[str, Any] = answer(goal.variants[1], scale)
    return fields


@dataclass(frozen=True)
class Part:
    """A part of a whole."""

    low: Annotated[float, AnswerField("percent", "The least.")]


@dataclass(frozen=True)
class Whole:
    """A whole."""

    rate: Annotated[float, AnswerField("percent", name="rate_percentage")]
    progress: Annotated[float | None, PROGRESS]
    visitors: Annotated[int, described("All of them.")]
    parts: tuple[Part, ...] | None
    change: Annotated[Interval, AnswerField("percent")]
    hidden: Annotated[int, NOT_ANSWERED] = 7


WHOLE = Whole(
    rate=0.94998,
    progress=0.94998 / 0.95,
    visitors=7,
    parts=(Part(low=-1e-9),),
    change=Interval(low=None, high=0.1, level=0.9),
)


def test_a_record_is_answered_by_what_is_said_of_its_fields() -> None:
    found = answer(WHOLE)
    assert found == {
        "rate_percentage": 95.0,
        "score_progress_percentage": 99.99,
        "visitors": 7,
        "parts": [{"low": 0.0}],
        "change": {"low": None, "high": 10.0, "level": 90.0},
    }
    # No percent is a negative zero.
    assert math.copysign(1.0, found["parts"][0]["low"]) == 1.0
    assert answer(None) is None


def test_an_answer_is_described_by_the_record() -> None:
    schema = TypeAdapter(Answer[Whole]).json_schema()
    assert (schema["title"], schema["description"]) == ("Whole", "A whole.")
    assert list(schema["properties"]) == list(answer(WHOLE))
    assert schema["required"] == list(answer(WHOLE))
    assert schema["properties"]["visitors"]["description"] == "All of them."
    assert schema["$defs"]["Part"]["properties"]["low"]["description"] == "The least."


def test_renamed_components_are_records() -> None:
    records = {name for name, found in vars(report_records).items() if is_dataclass(found)}
    assert records >= set(COMPONENT_NAMES)


def test_a_share_is_a_percent_of_two_decimals() -> None:
    assert percent(118 / 1412) == 8.36
    assert percent(None) is None


def test_a_score_just_below_the_threshold_is_served_below_it() -> None:
    found = report(MISSED)
    variant, goal = served(found), found.goals[0]
    assert variant["status"] == "inconclusive"
    summary = answer(goal.summary)
    assert summary["effective_confidence_threshold"] == 95.0
    for shown in (variant, summary):
        scores = [shown[name] for name in ("score_value", "confidence", "score_progress_percentage")]
        assert scores == [94.99, 94.99, 99.99]
    assert answer(goal.decision)["score_value"] == 94.99


def test_a_decided_score_is_served_at_the_threshold_or_above() -> None:
    variant = served(report(REACHED))
    assert variant["status"] == "winner"
    assert variant["score_value"] >= 95.0
    assert variant["score_progress_percentage"] == 100.0


@pytest.mark.parametrize("method", ["frequentist", "bayesian"])
def test_every_score_decides_as_its_status(method: str) -> None:
    seen = set()
    for conversions in range(930, 1180, 5):
        variant = served(report(conversions, method))
        decided = variant["score_value"] >= 95.0 or (method == "bayesian" and variant["score_value"] <= 5.0)
        assert decided == (variant["status"] in {"winner", "loser"})
        seen.add(variant["status"])
    assert seen == {"winner", "loser", "inconclusive"}


def test_log_p_is_served_where_p_underflows() -> None:
    experiment = an_experiment()
    found = analyze(experiment, observed([10**6, 10**6], [10_000, 40_000]), now=NOW)
    variant = served(found)
    assert variant["p_value"] == 0.0
    # Two-sided, z of the pooled score test; log sf(z) is about -z²/2 - log(z sqrt(2 pi)).
    z = 0.03 / np.sqrt(0.025 * 0.975 * 2 / 10**6)
    assert variant["log_p_value"] == pytest.approx(-(z**2) / 2 - np.log(z * np.sqrt(np.pi / 2)), rel=1e-6)


def test_intervals_are_served_in_percent_and_percentage_points() -> None:
    variant = served(report(1100))
    own, between = variant["rate_interval"], variant["absolute_difference_interval"]
    # Wilson's interval of 1100 of 20,000 by statsmodels' proportion_confint.
    assert (own["low"], own["high"], own["level"]) == (5.1925, 5.8246, 95.0)
    assert between["low"] < 0.0
    assert between["high"] > 0.27
