"""The decision on an experiment, from its evidence and the looks recorded so far."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from engine.analysis.analyze import analyze
from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.evidence.recorded_looks import RecordedLook
from engine.analysis.results.report import Report
from engine.design.analysis_settings import Statistics
from engine.errors import InvalidDesignError
from engine.vocabulary import GuardrailRule
from tests.builders import NOW, STARTED, a_goal, an_experiment
from tests.observations import observed

GUARDRAIL = a_goal(
    id="goal_2",
    name="Errors",
    is_primary=False,
    config={"event_name": "error", "direction": "decrease", "guardrail_margin_percent": 0},
)
SECONDARY = a_goal(id="goal_2", name="Sign-up", is_primary=False, config={"event_name": "sign_up"})


def report_on(
    visitors: list[int], conversions: Any, *, day: float = 10, looks: Any = (), **fields: Any
) -> Report:
    analysis = {name: fields.pop(name) for name in ("is_finished", "is_segment") if name in fields}
    experiment = an_experiment(
        **{"weights": (1,) * len(visitors), "status": "running", "started_at": STARTED, **fields}
    )
    now = STARTED + timedelta(days=day)
    evidence = observed(visitors, conversions, days=max(int(day), 1))
    return analyze(experiment, evidence, now=now, looks=looks, **analysis)


def action(report: Report) -> tuple[str, str | None, str | None]:
    assert report.primary is not None
    decision = report.primary.decision
    return decision.recommendation, decision.reason, decision.variant_name


SITUATIONS: dict[str, tuple[dict[str, Any], tuple[str, str | None]]] = {
    "ahead at one look before the plan": (
        {"visitors": [5_000] * 2, "conversions": [500, 570]},
        ("keep_running", None),
    ),
    "ahead at every look": ({"visitors": [5_000] * 2, "conversions": [500, 650]}, ("ship", None)),
    "ahead at every look in the first week": (
        {"visitors": [5_000] * 2, "conversions": [500, 650], "day": 5},
        ("keep_running", None),
    ),
    "behind at every look on day 2": (
        {"visitors": [5_000] * 2, "conversions": [650, 500], "day": 2},
        ("rollback", None),
    ),
    "ahead at the plan": ({"visitors": [20_000] * 2, "conversions": [2_000, 2_130]}, ("ship", None)),
    "nothing at the plan": (
        {"visitors": [16_000] * 2, "conversions": [1_600, 1_690]},
        ("review", "undecided"),
    ),
    "no difference at the plan": (
        {"visitors": [20_000] * 2, "conversions": [2_000, 2_010]},
        ("review", "no_difference"),
    ),
    "ended by hand before the plan": (
        {"visitors": [1_000] * 2, "conversions": [100, 130], "status": "completed", "completed_at": NOW},
        ("review", "ended_early"),
    ),
    "complete data are judged by one look": (
        {"visitors": [1_000] * 2, "conversions": [100, 130], "is_finished": True},
        ("ship", None),
    ),
    "a segment": (
        {"visitors": [5_000] * 2, "conversions": [500, 650], "is_segment": True},
        ("review", "exploratory"),
    ),
    "Bayesian, ahead at one look": (
        {"visitors": [5_000] * 2, "conversions": [500, 570], "analysis_method": "bayesian"},
        ("keep_running", None),
    ),
    "Bayesian, ahead at every look": (
        {"visitors": [5_000] * 2, "conversions": [500, 650], "analysis_method": "bayesian"},
        ("ship", None),
    ),
    "a bandit before its plan": (
        {"visitors": [5_000] * 2, "conversions": [500, 650], "traffic_strategy": "bandit"},
        ("keep_running", None),
    ),
    "a dead variant under always-valid monitoring": (
        {
            "visitors": [5_000] * 2,
            "conversions": [500, 0],
            "statistics": Statistics(sequential="always_valid"),
        },
        ("rollback", None),
    ),
    "always valid at the plan waits for its sequence": (
        {
            "visitors": [27_500] * 2,
            "conversions": [2_750, 2_926],
            "statistics": Statistics(sequential="always_valid"),
        },
        ("review", "undecided"),
    ),
    "a guardrail that was 0 and is 40": (
        {
            "visitors": [10_000] * 2,
            "conversions": [[1_000, 1_250], [0, 40]],
            "goals": (a_goal(), GUARDRAIL),
        },
        ("review", "guardrail_broken"),
    ),
    "a guardrail that was 0 and is 200": (
        {
            "visitors": [10_000] * 2,
            "conversions": [[1_000, 1_250], [0, 200]],
            "goals": (a_goal(), GUARDRAIL),
        },
        ("review", "guardrail_broken"),
    ),
    "a broken guardrail without a win": (
        {
            "visitors": [10_000] * 2,
            "conversions": [[1_000, 1_010], [0, 40]],
            "goals": (a_goal(), GUARDRAIL),
        },
        ("rollback", None),
    ),
    "a winner that harms another goal": (
        {
            "visitors": [10_000] * 2,
            "conversions": [[1_000, 1_250], [1_000, 700]],
            "goals": (a_goal(), SECONDARY),
        },
        ("review", "goal_harmed"),
    ),
    "a secondary goal that wins decides nothing": (
        {
            "visitors": [10_000] * 2,
            "conversions": [[1_000, 1_010], [1_000, 1_300]],
            "goals": (a_goal(), SECONDARY),
            "statistics": Statistics(planned_sample=100_000),
        },
        ("keep_running", None),
    ),
}


@pytest.mark.parametrize(("given", "expected"), SITUATIONS.values(), ids=SITUATIONS)
def test_action_on_evidence(given: dict[str, Any], expected: tuple[str, str | None]) -> None:
    assert action(report_on(**given))[:2] == expected


def test_every_goal_carries_the_one_action() -> None:
    report = report_on([10_000] * 2, [[1_000, 1_250], [1_000, 700]], goals=(a_goal(), SECONDARY))
    assert len({(goal.decision.recommendation, goal.decision.reason) for goal in report.goals}) == 1


def test_the_look_at_the_plan_stays_and_only_the_sequence_adds_to_it() -> None:
    at_plan = report_on([16_000] * 2, [1_600, 1_690])
    assert action(at_plan)[:2] == ("review", "undecided")
    look = at_plan.due_look
    assert look is not None
    assert look.is_at_plan
    # p = 0.03 a week later is a second ordinary look, which does not count.
    later = report_on([24_000] * 2, [2_400, 2_546], day=17, looks=[look])
    result = later.goals[0].variants[1]
    assert result.status == "winner"
    assert action(later)[:2] == ("review", "undecided")
    sure = report_on([24_000] * 2, [2_400, 2_700], day=17, looks=[look])
    assert action(sure)[:2] == ("ship", None)


def test_a_recorded_winner_stays_though_late_events_weaken_it() -> None:
    look = report_on([20_000] * 2, [2_000, 2_130]).due_look
    assert look is not None
    assert action(report_on([20_000] * 2, [2_000, 2_100], day=12, looks=[look]))[:2] == ("ship", None)
    # The sequence contradicts it: neither is established.
    against = report_on([20_000] * 2, [2_400, 2_130], day=12, looks=[look])
    assert action(against)[:2] == ("review", "undecided")


def test_what_held_at_a_recorded_look_is_kept() -> None:
    first = report_on([5_000] * 2, [500, 650], day=8).due_look
    assert first is not None
    assert not first.is_at_plan
    assert action(report_on([6_000] * 2, [600, 700], day=9))[:2] == ("keep_running", None)
    assert action(report_on([6_000] * 2, [600, 700], day=9, looks=[first]))[:2] == ("ship", None)


GUARDED = (a_goal(), GUARDRAIL)


def test_a_broken_guardrail_rolls_back_until_the_primary_goal_crosses_its_own_boundary() -> None:
    first = report_on([4_000] * 2, [[400, 420], [0, 40]], day=2, goals=GUARDED)
    assert action(first)[:2] == ("rollback", None)
    # In the first week nothing ships, but a gain that holds at every look is one to review.
    crossed = report_on([8_000] * 2, [[800, 1_000], [0, 80]], day=4, goals=GUARDED, looks=[look_of(first)])
    assert action(crossed)[:2] == ("review", "guardrail_broken")
    assert "'Treatment 1' wins" in crossed.goals[0].decision.headline
    # What was crossed once is kept, as a win is.
    looks = [look_of(first), look_of(crossed)]
    later = report_on([9_000] * 2, [[900, 990], [0, 80]], day=5, goals=GUARDED, looks=looks)
    assert action(later)[:2] == ("review", "guardrail_broken")
    alone = report_on([9_000] * 2, [[900, 990], [0, 80]], day=5, goals=GUARDED)
    assert action(alone)[:2] == ("rollback", None)


@pytest.mark.parametrize(
    ("errors", "rule", "expected"),
    [
        # A rise of at most 10% is allowed; the error of the difference is about 4% of the 1,000.
        ([1_000, 1_000], "non_inferior", ("ship", None)),
        ([1_000, 1_060], "non_inferior", ("review", "guardrail_inconclusive")),
        ([1_000, 1_060], "not_harmed", ("ship", None)),
        ([1_000, 1_250], "non_inferior", ("review", "guardrail_broken")),
    ],
)
def test_a_guardrail_that_must_be_is_shown_within_its_margin_at_the_plan(
    errors: list[int], rule: GuardrailRule, expected: tuple[str, str | None]
) -> None:
    config = {"event_name": "error", "direction": "decrease", "guardrail_margin_percent": 10}
    goals = (a_goal(), replace(GUARDRAIL, config=config))
    statistics = Statistics(guardrails=rule, planned_sample=30_000)
    given: dict[str, Any] = {"goals": goals, "statistics": statistics}
    report = report_on([15_000] * 2, [[1_500, 1_740], errors], **given)
    assert action(report)[:2] == expected
    early = report_on([12_000] * 2, [[1_200, 1_440], errors], day=9, **given)
    waits = rule == "non_inferior" and expected[1] != "guardrail_broken"
    assert action(early)[:2] == (("keep_running", None) if waits else expected)


def test_what_is_shown_at_the_plan_is_kept_and_the_sequence_may_show_more_later() -> None:
    config = {"event_name": "error", "direction": "decrease", "guardrail_margin_percent": 10}
    goals = (a_goal(), replace(GUARDRAIL, config=config))
    given: dict[str, Any] = {
        "goals": goals,
        "statistics": Statistics(guardrails="non_inferior", planned_sample=30_000),
    }
    shown = report_on([15_000] * 2, [[1_500, 1_740], [1_000, 1_000]], **given)
    assert action(shown)[:2] == ("ship", None)
    late: dict[str, Any] = {"visitors": [15_200] * 2, "conversions": [[1_520, 1_750], [1_000, 1_060]]}
    assert action(report_on(**late, day=11, looks=[look_of(shown)], **given))[:2] == ("ship", None)
    open_ = report_on([15_000] * 2, [[1_500, 1_740], [1_000, 1_060]], **given)
    assert action(open_)[:2] == ("review", "guardrail_inconclusive")
    # z = 1.9 is enough at the one look at the plan, and not after it.
    more: dict[str, Any] = {"visitors": [18_000] * 2, "conversions": [[1_800, 2_080], [1_200, 1_220]]}
    assert action(report_on(**more, day=13, looks=[look_of(open_)], **given))[:2] == (
        "review",
        "guardrail_inconclusive",
    )
    sure: dict[str, Any] = {"visitors": [40_000] * 2, "conversions": [[4_000, 4_600], [2_700, 2_700]]}
    assert action(report_on(**sure, day=25, looks=[look_of(open_)], **given))[:2] == ("ship", None)


def test_a_margin_of_0_cannot_be_shown() -> None:
    with pytest.raises(InvalidDesignError, match="no sample shows a loss of 0") as refused:
        an_experiment(goals=GUARDED, statistics=Statistics(guardrails="non_inferior"))
    (problem,) = refused.value.problems
    assert problem.field == "goals[1].config.guardrail_margin_percent"


def test_a_broken_guardrail_stays_broken_though_later_data_are_within_its_margin() -> None:
    first = report_on([4_000] * 2, [[400, 420], [0, 40]], day=2, goals=GUARDED)
    recovered: dict[str, Any] = {"visitors": [16_000] * 2, "conversions": [[1_600, 1_950], [60, 50]]}
    assert action(report_on(**recovered, day=10, goals=GUARDED))[:2] == ("ship", None)
    kept = report_on(**recovered, day=10, goals=GUARDED, looks=[look_of(first)])
    assert action(kept)[:2] == ("review", "guardrail_broken")


def look_of(report: Report) -> RecordedLook:
    assert report.due_look is not None
    return report.due_look


def test_wrong_data_come_before_a_record() -> None:
    look = report_on([20_000] * 2, [2_000, 2_130]).due_look
    assert look is not None
    report = report_on([20_000, 24_000], [2_000, 2_500], day=12, looks=[look])
    assert action(report)[0] == "fix_data"
    assert report.due_look is None


def test_the_plan_is_frozen_by_its_look() -> None:
    look = report_on([20_000] * 2, [2_000, 2_130]).due_look
    assert look is not None
    later = report_on([30_000] * 2, [6_000, 6_100], day=20, looks=[look])
    assert later.plan.required_visitors == look.plan.required_visitors
    assert later.plan.reached_at == look.taken_at
    assert later.plan.detectable_effect == look.plan.detectable_effect


def test_group_sequential_spends_alpha_at_the_looks_that_were_recorded() -> None:
    statistics = Statistics(sequential="group_sequential", planned_sample=40_000)
    given: dict[str, Any] = {
        "visitors": [10_000] * 2,
        "conversions": [1_000, 1_120],
        "statistics": statistics,
    }
    once = report_on(**given)
    assert action(once)[:2] == ("keep_running", None)
    look = once.due_look
    assert look is not None
    looks = [replace(look, visitors=39_000, earlier_visitors=tuple(range(1_000, 39_000, 1_000)))]
    last = {**given, "visitors": [20_000] * 2, "conversions": [2_000, 2_122], "day": 20}
    # z = 2.01: enough for a single look at the end, not after 39 others.
    assert action(report_on(**last))[:2] == ("ship", None)
    spent = report_on(**last, looks=looks)
    assert spent.goals[0].variants[1].status == "inconclusive"
    assert action(spent)[0] == "review"


@pytest.mark.parametrize("correction", ["bonferroni", "holm", "dunnett"])
def test_the_look_at_the_plan_uses_the_correction_of_the_experiment(correction: Any) -> None:
    # The second p is .04: above Bonferroni's .025, and Holm's for a second comparison is .05.
    report = report_on(
        [22_000] * 3, [2_200, 2_400, 2_330], day=14, statistics=Statistics(correction=correction)
    )
    statuses = [variant.status for variant in report.goals[0].variants]
    second = report.due_look.comparisons["goal_1"]["var_2"].wins if report.due_look else None
    assert second is (statuses[2] == "winner")
    assert (correction == "holm") == (statuses[2] == "winner")


def test_a_recorded_bayesian_winner_stays_though_its_gain_is_gone() -> None:
    look = report_on([20_000] * 2, [2_000, 2_130], analysis_method="bayesian").due_look
    assert look is not None
    late = report_on([20_000] * 2, [2_140, 2_130], day=12, looks=[look], analysis_method="bayesian")
    assert action(late)[:2] == ("ship", None)


def test_the_margin_of_no_difference_stays_as_it_was_at_the_plan() -> None:
    statistics = Statistics(planned_sample=40_000)
    look = report_on([20_000] * 2, [2_000, 2_050], statistics=statistics).due_look
    assert look is not None
    evidence = observed([30_000] * 2, [6_000, 6_100], days=20)
    experiment = an_experiment(status="running", started_at=STARTED, statistics=statistics)
    later = prepare(experiment, evidence, now=STARTED + timedelta(days=20), looks=[look]).sample
    assert later.equivalence_margins.tolist() == [look.plan.equivalence_margins["goal_1"]]
    assert prepare(experiment, evidence).sample.equivalence_margins[0] < later.equivalence_margins[0]
