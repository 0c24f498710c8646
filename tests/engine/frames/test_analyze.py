"""A verdict from any DataFrame, and from two published experiments the published numbers."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from engine.analysis.results.report import Report
from engine.analysis.results.variant_result import VariantResult
from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Converted
from tests.hall import hall_p
from tests.public_data import EmailChallenge, LandingPage

ROWS = pl.DataFrame(
    {
        "visitor": ["a", "a", "b", "c", "c", "d", "e"],
        "variant": ["A", "A", "B", "A", "B", "B", "A"],
        "bought": [0, 1, 1, 1, 0, None, 0],
        "spent": [0.0, 19.99, 5.5, 7.0, 0.0, None, -3.0],
        "at": [datetime(2026, 3, 1 + day, 23, 30) for day in (0, 1, 1, 2, 3, 3, 4)],  # noqa: DTZ001  # naive is UTC
    }
)


def duckdb_relation(frame: pl.DataFrame) -> Any:
    return duckdb.connect().from_arrow(frame.to_arrow())


KINDS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "Polars": lambda frame: frame,
    "Polars, lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(),
    "PyArrow": lambda frame: frame.to_arrow(),
    "DuckDB": duckdb_relation,
}


def judged(frame: Any, **arguments: Any) -> Report:
    fields = {
        "control": "A",
        "goals": {"bought": "custom_event", "spent": "revenue"},
        "visitor": "visitor",
        "timestamp": "at",
    }
    return analyze_frame(frame, **{**fields, **arguments})


def challengers(report: Report, goal: int = 0) -> dict[str, VariantResult]:
    return {variant.variant_name: variant for variant in report.goals[goal].variants}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_gives_the_same_report(kind: str) -> None:
    report = judged(KINDS[kind](ROWS))
    assert report == judged(ROWS)
    assert challengers(report)["A"].visitors == 2


def test_a_visitor_counts_once_and_one_in_two_variants_not_at_all() -> None:
    report = judged(ROWS)
    assert {name: (v.visitors, v.conversions) for name, v in challengers(report).items()} == {
        "A": (2, 1),
        "B": (2, 1),
    }
    check = next(check for check in report.health if check.check == "several_variants")
    assert check.details["visitors"] == 1


def test_revenue_adds_up_in_cents_and_refunds_convert_nobody() -> None:
    spent = challengers(judged(ROWS), goal=1)
    assert (spent["A"].revenue_cents, spent["A"].conversions) == (1999 - 300, 1)
    assert (spent["B"].revenue_cents, spent["B"].conversions) == (550, 1)
    assert spent["A"].revenue.value == pytest.approx(849.5)


def test_days_are_local_and_add_up() -> None:
    utc, tokyo = (judged(ROWS, timezone=zone) for zone in ("UTC", "Asia/Tokyo"))
    assert [day for day, _ in utc.goals[0].days] == [date(2026, 3, 1 + i) for i in range(5)]
    # Half past eleven at night in UTC is the next morning in Tokyo.
    assert [day for day, _ in tokyo.goals[0].days] == [date(2026, 3, 2 + i) for i in range(5)]
    for report in (utc, tokyo):
        for goal in report.goals:
            for variant in goal.variants:
                days = [by_variant[variant.variant_id] for _, by_variant in goal.days]
                assert sum(day.visitors for day in days) == variant.visitors
                assert sum(day.conversions for day in days) == variant.conversions
                assert sum(day.revenue_cents for day in days) == variant.revenue_cents


def test_a_conversion_is_of_the_day_it_happened_and_a_visitor_of_the_first() -> None:
    by_day = {day.day: by_variant["variant_0"] for day, by_variant in judged(ROWS).goals[0].days}
    assert (by_day[1].visitors, by_day[1].conversions) == (1, 0)
    assert (by_day[2].visitors, by_day[2].conversions) == (0, 1)


def test_times_may_be_text_dates_or_have_a_zone() -> None:
    text = ROWS.with_columns(pl.col("at").cast(pl.String))
    zoned = ROWS.with_columns(pl.col("at").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"))
    dates = ROWS.with_columns(pl.col("at").cast(pl.Date))
    assert judged(text) == judged(zoned) == judged(ROWS)
    assert judged(dates).goals[0].days == judged(ROWS).goals[0].days


def test_without_visitors_each_row_is_one_and_without_times_there_are_no_days() -> None:
    report = judged(ROWS, visitor=None, timestamp=None)
    assert challengers(report)["A"].visitors == 4
    assert report.goals[0].days == ()
    assert report.as_of is None


@pytest.mark.parametrize("count", [2, 4, 5, 9])
def test_every_variant_is_found_wherever_it_first_stands(count: int) -> None:
    rng = np.random.default_rng(count)
    names = [f"arm {number}" for number in range(count)]
    seen = rng.permutation(names * 30)
    report = analyze_frame(
        pl.DataFrame({"variant": seen, "bought": rng.integers(0, 2, len(seen))}),
        control="arm 0",
        goals=["bought"],
    )
    assert [variant.name for variant in report.experiment.variants] == names
    assert [one.visitors for one in report.goals[0].variants] == [30] * count


def test_a_list_of_goals_is_of_conversions_and_the_first_is_primary() -> None:
    report = analyze_frame(ROWS, control="A", goals=["bought"])
    assert report.primary is not None
    assert report.primary.goal.name == "bought"


def test_the_report_is_as_of_the_last_row() -> None:
    assert judged(ROWS).as_of == datetime(2026, 3, 5, 23, 30, tzinfo=UTC)


def test_weights_and_directions_are_taken_over() -> None:
    frame = pl.DataFrame(
        {"variant": ["A"] * 9000 + ["B"] * 1000, "returned": [1, 0, 0] * 3000 + [0, 1, 0, 0] * 250}
    )
    even = analyze_frame(frame, control="A", goals=["returned"])
    uneven = analyze_frame(
        frame, control="A", goals={"returned": Converted(less_is_better=True)}, weights={"A": 9, "B": 1}
    )
    assert even.goals[0].decision.recommendation == "fix_data"
    assert uneven.goals[0].decision.recommendation == "ship"


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "a column that is not there": ({"variant": "varient"}, "did you mean 'variant'"),
    "a control that nobody saw": ({"control": "Z"}, "the control 'Z' is none of the variants seen: 'A', 'B'"),
    "no goal": ({"goals": []}, "name at least one column as a goal"),
    "amounts as conversions": ({"goals": ["spent"]}, "make it a revenue goal"),
    "text as money": ({"goals": {"variant": "revenue"}}, "revenue is a number"),
    "text as conversions": ({"goals": ["variant"]}, "a goal is true or false"),
    "numbers as times": ({"timestamp": "spent"}, "make it a datetime column"),
    "text that is no time": ({"timestamp": "variant"}, "'variant' says nothing in 7 rows"),
    "missing values as visitors": ({"visitor": "bought"}, "'bought' says nothing in 1 rows"),
    "weights of other variants": ({"weights": {"A": 1}}, "weights must be of the variants seen"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_explained(mistake: str) -> None:
    arguments, message = MISTAKES[mistake]
    with pytest.raises(InvalidEvidenceError, match=message):
        judged(ROWS, **arguments)


@pytest.mark.parametrize(
    ("frame", "message"), [([1, 2], "is not a data frame"), (ROWS.clear(), "has no rows")]
)
def test_what_is_no_data_is_refused(frame: Any, message: str) -> None:
    with pytest.raises(InvalidEvidenceError, match=message):
        judged(frame)


def test_moments_of_money_are_numpys() -> None:
    rng = np.random.default_rng(12)
    n = 4000
    frame = pl.DataFrame(
        {
            "variant": np.where(rng.random(n) < 0.5, "A", "B"),
            "spent": np.where(rng.random(n) < 0.2, rng.lognormal(3, 1, n), 0.0).round(2),
        }
    )
    found = challengers(analyze_frame(frame, control="A", goals={"spent": "revenue"}))["B"]
    a, b = (frame.filter(pl.col("variant") == arm)["spent"].to_numpy() for arm in "AB")
    assert found.p_value == pytest.approx(hall_p(b, a), rel=1e-9)


def test_the_landing_page_made_no_difference(landing_page: LandingPage) -> None:
    frame = pl.read_csv(landing_page.path)
    for zone in ("UTC", "America/New_York"):
        report = analyze_frame(
            frame,
            variant="landing_page",
            control="old_page",
            goals=["converted"],
            visitor="user_id",
            timestamp="timestamp",
            timezone=zone,
        )
        old, new = report.goals[0].variants
        assert {v.variant_name: (v.visitors, v.conversions) for v in (old, new)} == landing_page.counts
        aside = next(check.details for check in report.health if check.check == "several_variants")
        assert aside["visitors"] == landing_page.visitors_of_both_pages
        assert new.p_value == pytest.approx(landing_page.p_value, rel=1e-10)
        assert report.goals[0].decision.recommendation_label == "No difference"
        assert sum(by_id["variant_1"].visitors for _, by_id in report.goals[0].days) == new.visitors


def test_both_e_mails_of_hillstroms_challenge_win(email_challenge: EmailChallenge) -> None:
    report = analyze_frame(
        pl.read_csv(email_challenge.path),
        variant="segment",
        control="No E-Mail",
        goals={"visit": "custom_event", "conversion": "custom_event", "spend": "revenue"},
    )
    by_goal = {goal.goal.name: challengers(report, place) for place, goal in enumerate(report.goals)}
    visits = by_goal["visit"]
    assert {name: (v.visitors, v.conversions) for name, v in visits.items()} == email_challenge.visits
    for (goal, mail), p_value in email_challenge.p_values.items():
        # The arms differ by a visitor or a hundred, so Hall's correction of Welch's p is slight.
        assert by_goal[goal][mail].p_value == pytest.approx(p_value, rel=0.1 if goal == "spend" else 1e-6)
    assert {v.status for v in visits.values()} == {"control", "winner"}
    assert report.goals[0].summary.winner_variant_name == "Mens E-Mail"


def test_an_effect_that_fades_is_seen_where_visitors_have_several_rows() -> None:
    rng = np.random.default_rng(11)
    people, days = 30_000, 10
    arm, came = rng.integers(0, 2, people), rng.integers(0, 5, people)
    # The variant's odds are threefold on the first day and no better from the third on.
    rate = np.where(arm[:, None] == 1, 0.02 * np.array([3.0, 2.0] + [1.0] * (days - 2)), 0.02)
    bought = np.cumsum(rng.random((people, days)) < rate, axis=1)
    first = (bought == 1) & (np.diff(bought, axis=1, prepend=0) == 1)
    who, since = np.nonzero(first | (np.arange(days) == 0))
    rows = pl.DataFrame(
        {
            "visitor": who,
            "variant": np.array(["A", "B"])[arm[who]],
            "bought": first[who, since].astype(int),
            "at": [datetime(2026, 3, 1 + int(day), tzinfo=UTC) for day in came[who] + since],
        }
    )
    report = judged(rows, goals=["bought"])
    check = next(check for check in report.health if check.check == "novelty")
    assert check.status == "warning"
    variants: Any = check.details["variants"]
    today = (came + days - 1).max()
    lasted = came[:, None] + np.arange(days) < today
    at_risk = lasted & (bought - first == 0)
    for name, arm_of in (("control_visitors", 0), ("visitors", 1)):
        wanted = at_risk[arm == arm_of].sum(axis=0).tolist()
        assert [day[name] for day in variants["B"]["by_day"]] == wanted
    assert variants["B"]["first_day"] > 1.2
    assert abs(variants["B"]["last_day"]) < 0.4


def test_one_row_a_visitor_does_not_tell_how_long_an_effect_lasts() -> None:
    for frame in (ROWS, ROWS.drop("at")):
        report = judged(frame, timestamp="at" if "at" in frame.columns else None)
        assert next(check for check in report.health if check.check == "novelty").status == "not_applicable"


def a_clear_frame(days: int) -> pl.DataFrame:
    """2,000 visitors a variant over some days, of whom 200 and 250 buy: clear at one look only."""
    numbers = pl.int_range(4_000, eager=True)
    place = numbers // 2
    start = datetime(2026, 3, 1, tzinfo=UTC)
    return pl.DataFrame(
        {
            "variant": (numbers % 2).replace_strict({0: "A", 1: "B"}),
            "bought": place < pl.Series((numbers % 2) * 50 + 200),
            "at": start + pl.Series(numbers / 3_999 * days * 86_400e6).cast(pl.Duration("us")),
        }
    )


def test_frame_is_a_finished_test_unless_it_is_said_to_be_running() -> None:
    ask = partial(analyze_frame, a_clear_frame(10), control="A", goals=["bought"])
    finished, running = ask(), ask(timestamp="at", running=True)
    assert finished.primary is not None
    assert running.primary is not None
    assert finished.primary.decision.recommendation == "ship"
    assert (finished.plan.source, finished.plan.is_reached) == ("finished", True)
    assert running.primary.decision.recommendation == "keep_running"
    assert (running.plan.source, running.plan.is_reached) == ("blinded", False)
    assert running.plan.running_days == 10
    # The numbers are those of one look in both.
    assert running.primary.variants[1].p_value == finished.primary.variants[1].p_value


def test_running_frame_needs_its_days() -> None:
    with pytest.raises(InvalidEvidenceError, match="judged by its days"):
        analyze_frame(a_clear_frame(10), control="A", goals=["bought"], running=True)


def test_running_frame_is_over_on_its_last_day() -> None:
    report = analyze_frame(a_clear_frame(56), control="A", goals=["bought"], timestamp="at", running=True)
    assert report.primary is not None
    assert report.primary.decision.recommendation == "ship"
    assert report.plan.source == "last_day"
