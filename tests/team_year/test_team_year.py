"""A year of a team: tests in three groups and of everybody; it ships what helps, and is told of the rest."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.pipeline.webhooks.receiving_endpoint import an_endpoint
from tests.team_year.cast import CAST, GROUPS, PAIR, PAIR_STARTS, SALE, WEEKS_A_YEAR
from tests.team_year.shop_year import BASE_RATE, BEGIN, WEEK, ShopYear


def table_of(year: ShopYear) -> str:
    """Write what became of each test, a line each."""
    lines = [f"{'test':<18} {'true':>6} {'weeks':>8} {'visitors':>8}  decision"]
    for name, conclusion in year.conclusions().items():
        role, weeks = year.roles[name], f"{year.begun[name]}-{year.ended[name]}"
        said = f"{conclusion['decision']} by {conclusion['decided_by_name']}"
        lines.append(f"{name:<18} {role.effect:>+6.0%} {weeks:>8} {year.exposed[name]:>8}  {said}")
    return "\n".join(lines)


def holdout_of(year: ShopYear) -> tuple[float, tuple[float, float], float]:
    """Return the estimate of what the programme was worth, its interval, and the truth, as shares."""
    path = f"{year.project}/holdouts/{year.holdout}/results"
    (variants,) = year.mia.data_of(path)["variants"].values()
    (others,) = (one for one in variants if not one["is_control"])
    interval = others["improvement_interval"]
    (held, visitors), (purchases, number) = year.expected[True], year.expected[False]
    assert held == pytest.approx(visitors * BASE_RATE)
    truth = (purchases / number) / BASE_RATE - 1
    return others["improvement"] / 100, (interval["low"] / 100, interval["high"] / 100), truth


@contextmanager
def lived(
    year: ShopYear, weeks: int, *, restarts: set[int], groups: tuple[str | None, ...] = (*GROUPS, None)
) -> Iterator[None]:
    """Live through weeks, start the service again before some of them, and serve what is left to look at."""
    for first, beyond in pairwise(sorted({0, *restarts, weeks})):
        with year.served():
            for week in range(first, beyond):
                year.live(week, groups)
            if beyond == weeks:
                sys.stdout.write(told(year))
                yield
    assert year.restarts == len(restarts)


def told(year: ShopYear) -> str:
    """Write the table, each warning and message, and the holdout beside the truth."""
    estimate, (low, high), truth = holdout_of(year)
    held = f"holdout {estimate:+.1%} ({low:+.1%} to {high:+.1%}), true {truth:+.1%}"
    texts = sorted(map(str, [*year.interacting.values(), *year.told.values()]))
    return "\n".join([table_of(year), *texts, held, ""])


@pytest.fixture
def year(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ShopYear]:
    with an_endpoint() as endpoint:
        year = ShopYear(tmp_path, endpoint, 1_400, np.random.default_rng(7))
        year.set_clock(monkeypatch)
        yield year


def test_a_month_ships_what_helps_and_stops_what_harms(year: ShopYear) -> None:
    with lived(year, 4, restarts=set(), groups=("checkout",)):
        ended = {name: one["decision"] for name, one in year.conclusions().items()}
        assert ended == {"One page": "ship", "Phone required": "keep_control"}
        assert_stopped_by_their_ramps(year, {"Phone required"})
        messages = Counter(one.subject for one in year.told.values())
        assert (messages["ramp_harm"], messages["review_asked"]) == (1, 3)
        assert_told(
            year,
            "Phone required: ended by its ramp, as a variant does harm",
            "One page: decision ready (Ship)",
            "One page: owner asks for a yes to ship a variant",
        )
        _, (low, high), truth = holdout_of(year)
        assert low < truth < high


@pytest.mark.long(seconds=120)
def test_a_year_of_forty_tests(year: ShopYear) -> None:
    with lived(year, WEEKS_A_YEAR, restarts={9, 20, 21, 40}):
        conclusions = year.conclusions()
        assert len(CAST) == 40
        assert conclusions.keys() == {role.name for role in (*CAST, *PAIR)}
        shipped = {name for name, one in conclusions.items() if one["decision"] == "ship"}
        helpful = {role.name for role in CAST if role.effect > 0}
        # A test without an effect is shipped in 3% of cases at most: of 34, seldom more than two.
        assert len(shipped - helpful) <= 2
        assert len(shipped & helpful) >= len(helpful) - 2
        assert_stopped_by_their_ramps(year, {"Phone required", "Autoplay"})
        assert conclusions["Address look-up"]["decision"] == "inconclusive"
        messages = Counter(one.subject for one in year.told.values())
        assert messages["ramp_harm"] == 2
        assert messages["data_broken"] >= 1
        assert messages["review_asked"] == len(conclusions) + len(shipped)
        assert_told(
            year,
            "Autoplay: ended by its ramp, as a variant does harm",
            "Sizes first: decision ready (Ship)",
            "Address look-up: ",
        )
        assert_pair_is_told_and_separated(year)
        _, (low, high), truth = holdout_of(year)
        assert low < truth < high


def assert_stopped_by_their_ramps(year: ShopYear, names: set[str]) -> None:
    conclusions = year.conclusions()
    by_ramp = {name for name, one in conclusions.items() if one["decided_by"] == "ramp"}
    assert by_ramp == names
    # Of the 4,000 of their plan, and while the first steps let in few.
    assert all(year.ended[name] - year.begun[name] <= 3 for name in names)
    assert all(year.exposed[name] < 1_600 for name in names)


def assert_told(year: ShopYear, *beginnings: str) -> None:
    texts = [one.text for one in year.told.values()]
    assert [one for one in beginnings if not any(text.startswith(one) for text in texts)] == []


def assert_pair_is_told_and_separated(year: ShopYear) -> None:
    first, second = (role.name for role in PAIR)
    assert year.interacting.keys() == {first, second}
    for one, other in ((first, second), (second, first)):
        assert f"'{one}' and '{other}' should not run together" in year.interacting[one].text
    # Found while the sale doubles the visitors; neither is shipped, as each alone would have been.
    assert year.ended[second] - PAIR_STARTS < len(SALE)
    found = BEGIN + WEEK * year.ended[second] + timedelta(days=1)
    assert {one.day for one in year.interacting.values()} == {f"{found:%Y-%m-%d}"}
    conclusions = year.conclusions()
    assert conclusions[second]["note"] == "As the check of interactions says."
    assert conclusions[first]["decision"] != "ship"
