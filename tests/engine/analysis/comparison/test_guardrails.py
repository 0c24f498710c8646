from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.guardrails import broken_guardrails
from tests.builders import a_goal, an_experiment
from tests.observations import observed

GOALS = (
    a_goal(),
    a_goal(
        id="goal_2",
        name="Sign-up",
        is_primary=False,
        config={"event_name": "sign_up", "guardrail_margin_percent": 2},
    ),
)


def broken(sign_ups: list[int]) -> dict[str, tuple[str, ...]]:
    evidence = observed([10_000, 10_000], [[500, 600], sign_ups])
    return broken_guardrails(prepare(an_experiment(goals=GOALS), evidence))


def test_a_guardrail_is_broken_beyond_its_margin_only() -> None:
    assert broken([1000, 700]) == {"var_1": ("Sign-up",)}
    assert broken([1000, 990]) == {}
    assert broken([1000, 1300]) == {}


def test_goals_without_a_margin_are_no_guardrails() -> None:
    evidence = observed([10_000, 10_000], [1000, 500])
    assert broken_guardrails(prepare(an_experiment(), evidence)) == {}
