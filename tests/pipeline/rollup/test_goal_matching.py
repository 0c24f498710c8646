import polars as pl

from pipeline.rollup.goal_matching import match_goals, matched_fields
from tests.builders import a_goal, an_experiment

EXPERIMENT = an_experiment(goals=(a_goal(config={"event_name": "purchase"}),))


def test_conversions_match_by_goal_id_or_by_name_without_one() -> None:
    goal = EXPERIMENT.goals[0]
    signatures = pl.DataFrame(
        {
            "signature": [1, 2, 3, 4],
            "type": ["conversion", "conversion", "conversion", "pageview"],
            "goal_id": [goal.id, None, "another", None],
            "event_name": [None, "purchase", "purchase", "purchase"],
            "url": [None, None, None, "https://shop.example/"],
            "selector": pl.Series([None] * 4, dtype=pl.String),
        }
    )
    matched = match_goals(signatures, {0: goal})
    assert matched.rows() == [(1, 0), (2, 0)]


def test_conversions_are_matched_whatever_the_goals() -> None:
    assert list(matched_fields([])) == ["conversion"]
