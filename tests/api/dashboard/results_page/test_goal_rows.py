"""Rows of goals: groups, limits, one axis, statuses beside the verdict, and room for a hundred rows."""

from collections.abc import Mapping

import pytest

from api.dashboard.results_page.goal_rows import MOST_ROWS, GoalTable, goal_table
from engine.analysis.analyze import analyze
from engine.analysis.results.goal_limits import limits_of
from engine.analysis.results.report import Report
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed

VISITORS = 10_000
LESS = {"event_name": "e", "direction": "decrease"}


def a_report(
    conversions: list[tuple[int, ...]], *configs: Mapping[str, object], status: str = "completed"
) -> Report:
    """Analyze goals with so many conversions by variant; the first one is the primary goal."""
    goals = tuple(
        a_goal(
            id=f"goal_{place}",
            name=f"Goal {place}",
            is_primary=place == 0,
            config={"event_name": "e", **config},
        )
        for place, config in enumerate(configs or [{}] * len(conversions))
    )
    variants = len(conversions[0])
    experiment = an_experiment(weights=(1,) * variants, goals=goals, status=status)
    return analyze(experiment, observed([VISITORS] * variants, [list(one) for one in conversions]), now=NOW)


def words(table: GoalTable) -> dict[str, list[str]]:
    return {
        found.report.goal.name: [row.word.label for row in found.rows]
        for group in table.groups
        for found in (*group.shown, *group.folded)
    }


def test_goals_stand_in_groups_with_their_status_beside_the_limit() -> None:
    margin, wide = {"guardrail_margin_percent": 10}, {"guardrail_margin_percent": 20}
    report = a_report(
        [(1000, 1300), (1000, 1000), (1000, 1000), (1000, 1400), (1000, 1060), (1000, 1005), (1000, 700)],
        {},
        wide,
        {**LESS, **wide},
        {**LESS, **margin},
        {**LESS, **margin},
        {"minimum_effect_percent": 20},
        {},
    )
    table = goal_table(report, shows_all=False)
    assert [(group.title, len(group.shown)) for group in table.groups] == [
        ("Primary", 1),
        ("Guardrails", 4),
        ("Secondary", 2),
    ]
    assert words(table) == {
        "Goal 0": ["Better"],
        "Goal 1": ["Safe"],
        "Goal 2": ["Safe"],
        "Goal 3": ["Harmed"],
        "Goal 4": ["Unclear"],
        "Goal 5": ["Same"],
        "Goal 6": ["Worse"],
    }
    bars = [row.bar for group in table.groups for found in group.shown for row in found.rows]
    assert [bar.tone for bar in bars if bar] == [
        *("positive", "neutral", "neutral", "negative", "neutral", "neutral", "negative")
    ]
    # All bars have one axis, and a guardrail's limit is on the side that is not wanted.
    assert {bar.axis for bar in bars if bar} == {table.axis.limit}
    assert [bar.guardrail for bar in bars if bar][:3] == [None, -0.2, 0.2]


def test_before_the_verdict_no_row_is_more_than_unclear() -> None:
    report = a_report([(1000, 1200), (1000, 800)], {}, {"guardrail_margin_percent": 10}, status="running")
    assert report.goals[0].decision.recommendation == "keep_running"
    assert words(goal_table(report, shows_all=False)) == {"Goal 0": ["Unclear"], "Goal 1": ["Unclear"]}


def test_of_some_visitors_no_row_is_more_than_unclear() -> None:
    settled = a_report([(1000, 1300), (1000, 1250)])
    experiment, evidence = settled.experiment, observed([VISITORS] * 2, [[1000, 1300], [1000, 1250]])
    report = analyze(experiment, evidence, now=NOW, is_segment=True)
    assert report.goals[0].decision.reason == "exploratory"
    assert words(goal_table(settled, shows_all=False)) == {"Goal 0": ["Better"], "Goal 1": ["Better"]}
    assert words(goal_table(report, shows_all=False)) == {"Goal 0": ["Unclear"], "Goal 1": ["Unclear"]}


def test_an_absolute_margin_is_a_change_of_the_control() -> None:
    report = a_report([(1000, 1200), (1000, 800)], {}, {"guardrail_margin_absolute": 2})
    # Two points of ten percent.
    assert limits_of(report, report.goals[1]).guardrail == pytest.approx(-0.2)


def test_of_too_many_rows_the_best_variant_of_each_goal_is_shown() -> None:
    guarded = [{"guardrail_margin_percent": 5}] * 6
    report = a_report([(1000, *range(900, 919))] * 50, {}, *guarded, *[{}] * 43)
    table = goal_table(report, shows_all=False)
    shown = words(table)
    assert len(shown) == 50
    assert sum(map(len, shown.values())) + table.hidden == 50 * 19
    assert sum(map(len, shown.values())) <= MOST_ROWS
    assert len(shown["Goal 0"]) == 19
    secondary = table.groups[-1]
    assert {found.rows[0].variant.conversions for found in (*secondary.shown, *secondary.folded)} == {918}
    # Of a guardrail the worst one.
    assert table.groups[1].shown[-1].rows[0].variant.conversions == 900
    everything = goal_table(report, shows_all=True)
    assert everything.hidden == 0
    assert sum(map(len, words(everything).values())) == 50 * 19
    assert all(group.folded == () for group in everything.groups)
    alone = goal_table(report, shows_all=False, variant_id="var_7")
    assert {row.variant.variant_id for group in alone.groups for one in group.shown for row in one.rows} == {
        "var_7"
    }
    assert goal_table(report, shows_all=False, variant_id="var_0") == table
