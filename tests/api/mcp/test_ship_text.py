"""Text of a verdict: all of a small experiment, and what matters most of a wide one."""

from dataclasses import replace

import pytest

from api.mcp.ship_text import MOST_BYTES, ship_text
from engine.analysis.analyze import analyze
from engine.analysis.results.report import Report
from engine.design.variants import Variant
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed


def a_wide_report(goals: int, variants: int, name: str = "", breaks: int = 3) -> Report:
    """Analyze an experiment: each variant does better than the one before, and breaks one guardrail."""
    wide = tuple(
        Variant(id=f"var_{one}", name=f"Variant {one}{name}", weight=1.0, is_control=one == 0)
        for one in range(variants)
    )
    several = tuple(
        a_goal(
            id=f"g{one}",
            name=f"Goal {one}{name}",
            is_primary=one == 0,
            config={"event_name": "e"} | ({"guardrail_margin_percent": 1} if one == breaks else {}),
        )
        for one in range(goals)
    )
    experiment = an_experiment(variants=wide, goals=several, status="completed")
    counts = [
        [1_000 + (10 if goal != breaks else -10) * one for one in range(variants)] for goal in range(goals)
    ]
    return analyze(experiment, observed([10_000] * variants, counts), now=NOW)


def test_all_of_a_small_experiment_is_said() -> None:
    text = ship_text(a_wide_report(4, 3))
    assert text.count("### Goal") == 4
    assert text.count("| Variant 2 |") == 4
    assert "left out" not in text


def test_fifty_goals_of_twenty_variants_fit_with_what_matters_most() -> None:
    report = a_wide_report(50, 20)
    text = ship_text(report)
    assert len(text.encode()) <= MOST_BYTES
    assert report.primary is not None
    assert report.primary.decision.recommendation_label in text
    assert report.primary.decision.next_step in text
    # The control and the variant that is ahead, and the guardrail that is broken before the other goals.
    assert "| Variant 0 |" in text
    assert "| Variant 19 |" in text
    rows = [line for line in text.splitlines() if line.startswith("| Goal ") and "| Variant |" not in line]
    assert rows[0].startswith("| Goal 3 (guardrail) | Variant 19 |")
    assert rows[1].startswith("| Goal 1 | Variant 19 |")
    assert len(rows) == 49


@pytest.mark.parametrize("goals", [1, 50])
def test_long_names_are_cut_where_nothing_else_helps(goals: int) -> None:
    text = ship_text(a_wide_report(goals, 20, name="ü" * 240))
    assert len(text.encode()) <= MOST_BYTES
    assert "left out" in text
    assert "**Next:**" in text


def test_an_experiment_without_goals_is_said_in_words() -> None:
    assert ship_text(replace(a_wide_report(1, 2), goals=()))
