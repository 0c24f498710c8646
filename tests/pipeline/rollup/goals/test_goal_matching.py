import polars as pl

from pipeline.rollup.goals.goal_matching import match_goals, matched_fields, number_matches, number_rules
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


def test_goals_of_one_definition_share_a_rule_unless_an_event_names_one() -> None:
    definitions = ("purchase", "signup", "purchase", "purchase")
    goals = [
        a_goal(id=f"goal_{number}", config={"event_name": name}) for number, name in enumerate(definitions)
    ]
    assert number_rules(goals, set()) == [0, 1, 0, 0]
    assert number_rules(goals, {"goal_2", "another"}) == [0, 1, 2, 0]


def test_signatures_that_match_the_same_rules_share_a_number() -> None:
    pairs = pl.DataFrame(
        {
            "signature": [1, 1, 2, 2, 3, 4],
            "rule": pl.Series([0, 1, 1, 0, 0, 0], dtype=pl.UInt32),
            "minor_units": [100, 100, 100, 100, 100, 1],
            "value_path": pl.Series([None] * 6, dtype=pl.String),
            "field": pl.Series([None] * 6, dtype=pl.String),
        }
    )
    matches, rules = number_matches(pairs)
    match_of = dict(matches.select("signature", "match").iter_rows())
    assert match_of[1] == match_of[2] != match_of[3] == match_of[4]
    assert set(rules.filter(pl.col("match") == match_of[1])["rule"]) == {0, 1}
    assert rules.height == 3
