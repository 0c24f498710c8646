"""Pauses and their order."""

from datetime import timedelta

import pytest

from engine.design.pauses import Pause, one_after_another, with_pause, with_pause_ended
from engine.errors import InvalidDesignError
from tests.builders import NOW, an_experiment

LATER = NOW + timedelta(hours=1)
EARLIER = NOW - timedelta(hours=1)


def test_a_pause_lasts_until_it_is_ended() -> None:
    pauses = with_pause((), now=NOW)
    assert pauses == (Pause(started_at=NOW),)
    assert with_pause_ended(pauses, now=LATER) == (Pause(started_at=NOW, ended_at=LATER),)


def test_nothing_is_ended_where_no_pause_lasts() -> None:
    ended = (Pause(started_at=EARLIER, ended_at=NOW),)
    assert with_pause_ended((), now=NOW) == ()
    assert with_pause_ended(ended, now=LATER) == ended


def test_a_clock_that_is_set_back_makes_no_negative_pause() -> None:
    (ended,) = with_pause_ended(with_pause((), now=NOW), now=EARLIER)
    assert (ended.started_at, ended.ended_at) == (NOW, NOW)
    assert with_pause((ended,), now=EARLIER)[-1].started_at == NOW


def test_a_pause_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(InvalidDesignError) as error:
        Pause(started_at=NOW, ended_at=EARLIER)
    assert [problem.field for problem in error.value.problems] == ["ended_at"]


def test_pauses_follow_one_another() -> None:
    first, second = {"started_at": EARLIER, "ended_at": NOW}, {"started_at": NOW, "ended_at": None}
    assert list(one_after_another([first, second])) == []
    assert [problem.field for problem in one_after_another([second, first])] == ["[0].ended_at"]
    overlapping = {"started_at": EARLIER, "ended_at": None}
    assert [problem.field for problem in one_after_another([first, overlapping])] == ["[1].started_at"]
    assert list(one_after_another([{}, first])) == []


def test_an_experiment_refuses_pauses_out_of_order() -> None:
    with pytest.raises(InvalidDesignError, match="pauses"):
        an_experiment(status="paused", pauses=(Pause(started_at=NOW), Pause(started_at=EARLIER)))
